package server

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/rdma"
)

// slabMemory is the memory of a collection, which all devices have registered,
// so that all transports serve the same bytes.
//
// Its size is a limit: pages take memory when they are touched. But some devices
// pin registered memory (rdma.Info.Pins), touched or not. With these the slab
// is registered as far as it is used, by regions that all begin at its front:
//
//	slab      |#########################...................................|
//	first     |--------|
//	second    |----------------|
//	third     |--------------------------------|   clients get the latest
//
// A client that has an earlier region keeps it. It asks for the latest one when
// it finds that the tree uses more (remote.ErrGrown). So all regions stay; a page
// that is pinned twice takes no more memory.
//
// Pinning takes a card some 0.3 ms a MiB, and writers must not wait for it: the
// next region is made in the background when three quarters of the last one are
// used.
type slabMemory struct {
	name    string
	mem     []byte
	free    func()
	regions []rdma.Region          // in the order in which they were made
	whole   map[string]rdma.Region // by transport: all of the slab

	pins  []pinner
	first int64 // size of the first region that is pinned
	// doubles: the used part grows by doubling, as the index of keys does.
	doubles bool
	mu      sync.Mutex // held while regions are made
	// pinned is how many bytes all pins have registered; latest their regions.
	pinned int64
	latest map[string]rdma.Region
	// began is the value of pinned when pinAhead was last started: it is started once
	// for each region, and not after close.
	began  int64
	closed bool
	ahead  sync.WaitGroup
}

// pinner is a device that pins the memory that it registers.
type pinner struct {
	transport string
	rdma.MemoryRegistrar
}

// FirstPinnedBytes is how much of a collection is registered at first where memory is
// pinned, which takes 20 ms.
const FirstPinnedBytes = 64 << 20

// make allocates the memory, by a device if one must allocate it, and registers it.
func (s *slabMemory) make(fabrics []*fabric, name string, size, first int64) (err error) {
	s.name, s.free, s.first = name, func() {}, cmp.Or(first, FirstPinnedBytes)
	s.whole, s.latest = map[string]rdma.Region{}, map[string]rdma.Region{}
	for _, f := range fabrics {
		var r rdma.Region
		m, can := f.dev.(rdma.MemoryRegistrar)
		switch pins := f.dev.Info().Pins; {
		case !pins && s.mem == nil:
			r, err = f.dev.Register(int(size), rdma.RemoteRead)
		case !can:
			err = fmt.Errorf("%w: %s cannot register memory of another device", model.ErrTransport, f.name)
		case pins:
			s.pins = append(s.pins, pinner{f.name, m})
			continue
		default:
			r, err = m.RegisterMemory(s.mem, rdma.RemoteRead)
		}
		if err != nil {
			return s.failed(size, err)
		}
		s.mem, s.whole[f.name] = r.Bytes(), r
		s.regions = append(s.regions, r)
	}
	if s.mem == nil {
		if s.mem, err = mapped.Map(size); err != nil {
			return s.failed(size, err)
		}
		s.free = func() { _ = mapped.Unmap(s.mem) }
	}
	return nil
}

func (s *slabMemory) failed(size int64, err error) error {
	return fmt.Errorf("catfish: slab of %d bytes (--slab-bytes) for %q: %w", size, s.name, err)
}

// grower returns the function for rstar.Options.Grow.
func (s *slabMemory) grower() func(int64) (int64, error) {
	if len(s.pins) == 0 {
		return nil
	}
	return s.grow
}

// grow registers at least the first bytes of the slab, and returns how many bytes
// the tree may use before it asks again.
func (s *slabMemory) grow(bytes int64) (usable int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pinned < bytes {
		if err := s.pin(); err != nil {
			return s.pinned, err
		}
	}
	most := s.pinned / 4 * 3
	if s.doubles {
		most = s.pinned / 2
	}
	switch {
	case s.pinned == int64(len(s.mem)):
		return s.pinned, nil
	case bytes <= most:
		return most, nil
	}
	if s.began < s.pinned && !s.closed {
		s.began = s.pinned
		s.ahead.Go(s.pinAhead)
	}
	return s.pinned, nil
}

// pinAhead makes the next region before it is needed, unless a write was quicker.
// If it fails, the write that needs the region tries again, and gets the error.
func (s *slabMemory) pinAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned == s.began {
		_ = s.pin()
	}
}

// pin makes the next regions, one with each device.
func (s *slabMemory) pin() error {
	if s.closed {
		return model.ErrClosed
	}
	size := min(max(2*s.pinned, s.first), int64(len(s.mem)))
	made := map[string]rdma.Region{}
	for _, p := range s.pins {
		r, err := p.RegisterMemory(s.mem[:size:size], rdma.RemoteRead)
		if err != nil {
			for _, r := range made {
				err = errors.Join(err, r.Close())
			}
			return fmt.Errorf("catfish: %s cannot register %d bytes of %q: %w", p.transport, size, s.name, err)
		}
		made[p.transport] = r
	}
	for transport, r := range made {
		s.latest[transport] = r
		s.regions = append(s.regions, r)
	}
	s.pinned = size
	return nil
}

// reach returns where clients of a transport read the slab, and how much of it;
// a nil region: nowhere.
func (s *slabMemory) reach(transport string) (rdma.Region, int) {
	if r := s.whole[transport]; r != nil {
		return r, len(s.mem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.latest[transport]; r != nil {
		return r, int(s.pinned)
	}
	return nil, len(s.mem)
}

// revoke ends remote reads. The memory stays.
func (s *slabMemory) revoke() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.ahead.Wait()
	for _, r := range s.regions {
		_ = r.Revoke() // Closing it tells the error.
	}
}

// close unregisters and frees the memory, which the first region may own.
func (s *slabMemory) close() {
	s.revoke()
	for _, r := range slices.Backward(s.regions) {
		r.Close()
	}
	if s.free != nil { // The memory was made.
		s.free()
	}
}
