package soft

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

// maxRegion bounds Register: 64 TiB is half of what an amd64 process can
// address, and keeps the rounding to pages from overflowing.
const maxRegion = 1 << 46

// region is registered memory.
//
// Each access on behalf of a peer holds remote for reading (enter, leave).
// Revoke takes it for writing, and keeps it.
//
// Each access on behalf of a posted request holds a use (acquire, release).
// state counts the uses; Close adds closing to it. The memory is freed when
// state is closing alone: deregistered, and the last use has ended. An acquire
// that came too late sees closing and releases at once, which may look like the
// last use ending a second time, hence freeOnce.
type region struct {
	dev    *device
	mem    []byte
	free   func()
	unused chan struct{} // closed by free, if the memory is the caller's; else nil
	key    rdma.Key
	access rdma.Access

	remote  sync.RWMutex
	revoke  sync.Once
	revoked atomic.Bool // from the beginning of Revoke

	state    atomic.Int64
	freeOnce sync.Once
	closed   atomic.Bool
}

const closing = 1 << 40 // more than the possible number of uses

func (d *device) Register(size int, access rdma.Access) (rdma.Region, error) {
	if err := checkRegister(size, access); err != nil {
		return nil, err
	}
	mem, free, err := alloc(size)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: %w", rdma.ErrRegister, size, err)
	}
	return d.register(mem, free, nil, access)
}

// RegisterMemory is described at rdma.MemoryRegistrar.
func (d *device) RegisterMemory(mem []byte, access rdma.Access) (rdma.Region, error) {
	if err := checkRegister(len(mem), access); err != nil {
		return nil, err
	}
	// Reads cover whole lines (package lines).
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); at%rdma.LineBytes != 0 {
		return nil, fmt.Errorf("%w: memory at %#x, must be a multiple of %d",
			rdma.ErrRegister, at, rdma.LineBytes)
	}
	unused := make(chan struct{})
	return d.register(mem[:len(mem):len(mem)], func() { close(unused) }, unused, access)
}

func checkRegister(size int, access rdma.Access) error {
	if size < 1 || int64(size) > maxRegion {
		return fmt.Errorf("%w: size %d, allowed 1 to %d bytes",
			rdma.ErrRegister, size, int64(maxRegion))
	}
	const all = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite
	if access&^all != 0 {
		return fmt.Errorf("%w: unknown access right in %#x, allowed %#x",
			rdma.ErrRegister, access, all)
	}
	return nil
}

func (d *device) register(mem []byte, free func(), unused chan struct{}, access rdma.Access) (rdma.Region, error) {
	r := &region{dev: d, mem: mem, free: free, unused: unused, access: access}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		free()
		return nil, fmt.Errorf("%w: %w", rdma.ErrRegister, rdma.ErrClosed)
	}
	// 0 stays free: zeroed memory must not be a valid key by accident.
	for r.key == 0 || d.region(r.key) != nil {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		r.key = rdma.Key(binary.LittleEndian.Uint64(b[:]))
	}
	d.regions.Store(r.key, r)
	return r, nil
}

// region returns the registered region with that key, or nil.
func (d *device) region(k rdma.Key) *region {
	if r, ok := d.regions.Load(k); ok {
		return r.(*region)
	}
	return nil
}

func (r *region) Bytes() []byte       { return r.mem }
func (r *region) Key() rdma.Key       { return r.key }
func (r *region) Remote() rdma.Remote { return rdma.Remote{Key: r.key} }
func (r *region) Access() rdma.Access { return r.access }

// errRevoked ends the connection of a peer whose Write Revoke did not wait for.
var errRevoked = errors.New("soft: a region was revoked before a write to it had arrived")

// Revoke waits for the remote accesses that have begun. A Write that waits for
// bytes of its peer, which may be stopped, is not waited for: its connection
// ends. A Read waits for no peer: its bytes are copied, and sent later.
func (r *region) Revoke() error {
	r.revoke.Do(func() {
		r.revoked.Store(true)
		r.dev.mu.Lock()
		for q := range r.dev.qps {
			if q.arriving.Load() == r {
				q.cut(errRevoked)
			}
		}
		r.dev.mu.Unlock()
		r.remote.Lock()
	})
	return nil
}

// Close deregisters. The memory stays mapped for the destinations of this
// side's Reads that have begun. If the memory is the caller's, Close waits
// until they have ended.
func (r *region) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	_ = r.Revoke() // never fails
	r.dev.regions.Delete(r.key)
	if r.state.Add(closing) == closing {
		r.freeOnce.Do(r.free)
	}
	if r.unused != nil {
		<-r.unused
	}
	return nil
}

// enter begins a remote access, which leave ends. False: revoked.
func (r *region) enter() bool { return r.remote.TryRLock() }
func (r *region) leave()      { r.remote.RUnlock() }

// acquire keeps the memory mapped until release. False: deregistered.
func (r *region) acquire() bool {
	if r.state.Add(1) >= closing || r.revoked.Load() {
		r.release()
		return false
	}
	return true
}

func (r *region) release() {
	if r.state.Add(-1) == closing {
		r.freeOnce.Do(r.free)
	}
}

// check returns the status of a remote access to n bytes at offset.
func (r *region) check(need rdma.Access, offset uint64, n int) rdma.Status {
	if r.access&need == 0 {
		return rdma.StatusRemoteAccess
	}
	if size := uint64(len(r.mem)); offset > size || uint64(n) > size-offset {
		return rdma.StatusRemoteBounds
	}
	return rdma.StatusOK
}
