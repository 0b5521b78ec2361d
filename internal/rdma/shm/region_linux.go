package shm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/internal/rdma"
)

// region is memory of this process. Its bytes stay mapped until it is
// closed and no request uses them any more.
type region struct {
	dev    *device
	mem    []byte // whole pages
	size   int
	access rdma.Access
	key    rdma.Key
	fd     int // -1 without remote access
	slot   uint32
	gen    uint64
	uses   uses
	closed atomic.Bool
	// revoked is set under dev.mu, and read by Post without it.
	revoked atomic.Bool
}

// Register allocates size zeroed bytes, which occupy memory only when they
// are touched.
func (d *device) Register(size int, access rdma.Access) (rdma.Region, error) {
	if size <= 0 || size > maxRegionBytes {
		return nil, fmt.Errorf("%w: size %d, allowed are 1 to %d bytes", rdma.ErrRegister, size, maxRegionBytes)
	}
	if access&^(rdma.LocalWrite|remoteAccess) != 0 {
		return nil, fmt.Errorf("%w: unknown access bits %#x", rdma.ErrRegister, uint8(access))
	}
	r := &region{dev: d, size: size, access: access, fd: -1}
	r.uses.down = r.unmap
	var random [8]byte
	rand.Read(random[:]) // never fails (crypto/rand)
	r.key = rdma.Key(binary.NativeEndian.Uint64(random[:]))

	if err := r.allocate(); err != nil {
		return nil, fmt.Errorf("%w: %w", rdma.ErrRegister, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.closed {
		err = rdma.ErrClosed
	} else if r.access&remoteAccess != 0 {
		r.slot, r.gen, err = d.table.open()
	}
	if err != nil {
		r.unmap()
		return nil, err
	}
	d.regions[r.key] = r
	return r, nil
}

func (r *region) allocate() (err error) {
	if r.access&remoteAccess == 0 {
		r.mem, err = unix.Mmap(-1, 0, pages(r.size),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		return err
	}
	readOnly := r.access&rdma.RemoteWrite == 0
	fd, mem, err := createMemory("catfish-region", pages(r.size), readOnly)
	if err != nil {
		return err
	}
	r.fd, r.mem = fd, mem
	if readOnly {
		ro, err := readOnlyFd(fd)
		if err != nil {
			r.unmap()
			return err
		}
		r.fd = ro
	}
	return nil
}

func (r *region) Bytes() []byte       { return r.mem[:r.size:r.size] }
func (r *region) Key() rdma.Key       { return r.key }
func (r *region) Remote() rdma.Remote { return rdma.Remote{Key: r.key} }
func (r *region) Access() rdma.Access { return r.access }

// Revoke shows the peers that the region is closed, and asks those that have it
// mapped to unmap it. What that promises: see transfer.
func (r *region) Revoke() error {
	d := r.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.revoked.Swap(true) || r.fd < 0 {
		return nil
	}
	d.table.revoke(r.slot)
	for p := range d.qps {
		p.revoke(r.key)
	}
	return nil
}

// Close notifies the peers first, then releases the memory.
func (r *region) Close() error {
	if !r.closed.CompareAndSwap(false, true) {
		return nil
	}
	_ = r.Revoke() // never fails
	r.dev.mu.Lock()
	delete(r.dev.regions, r.key)
	r.dev.mu.Unlock()
	r.uses.end()
	return nil
}

func (r *region) unmap() {
	_ = unix.Munmap(r.mem)
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
	}
}
