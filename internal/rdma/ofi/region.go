//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

// maxRegion bounds Register as in package soft.
const maxRegion = 1 << 46

// region is memory registered with the domain.
type region struct {
	dev    *device
	mem    []byte
	mapped bool // mem is mapped here and must be unmapped
	mr     *C.struct_fid_mr
	desc   unsafe.Pointer
	key    rdma.Key
	access rdma.Access
	closed atomic.Bool
	alone  bool // only a closed endpoint used it

	revoke    sync.Once
	revoked   atomic.Bool // from the beginning of Revoke
	revokeErr error
}

// lateUnmap is memory that may be unmapped once all queue pairs up to number
// last are closed: libfabric's tcp may be receiving into it.
type lateUnmap struct {
	mem  []byte
	last uint32
}

func (d *device) Register(size int, access rdma.Access) (rdma.Region, error) {
	if size < 1 || int64(size) > maxRegion {
		return nil, fmt.Errorf("%w: size %d, allowed 1 to %d bytes", rdma.ErrRegister, size, int64(maxRegion))
	}
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: %w", rdma.ErrRegister, size, err)
	}
	r, err := d.register(mem, true, access)
	if err != nil {
		_ = syscall.Munmap(mem)
		return nil, err
	}
	return r, nil
}

// RegisterMemory is described at rdma.MemoryRegistrar.
func (d *device) RegisterMemory(mem []byte, access rdma.Access) (rdma.Region, error) {
	if len(mem) < 1 {
		return nil, fmt.Errorf("%w: no memory", rdma.ErrRegister)
	}
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(mem))); at%rdma.LineBytes != 0 {
		return nil, fmt.Errorf("%w: memory at %#x, must be a multiple of %d", rdma.ErrRegister, at, rdma.LineBytes)
	}
	r, err := d.register(mem[:len(mem):len(mem)], false, access)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (d *device) register(mem []byte, mapped bool, access rdma.Access) (*region, error) {
	const all = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite
	if access&^all != 0 {
		return nil, fmt.Errorf("%w: unknown access right in %#x, allowed %#x", rdma.ErrRegister, access, all)
	}
	// Pinning a slab takes long, and must not delay others: it is not done
	// under the lock, and undone if the device was closed meanwhile.
	if !d.begin() {
		return nil, fmt.Errorf("%w: %w", rdma.ErrRegister, rdma.ErrClosed)
	}
	defer d.end()
	flags := C.uint64_t(C.FI_SEND | C.FI_WRITE) // source of sends and writes
	if access&rdma.LocalWrite != 0 {
		flags |= C.FI_READ | C.FI_RECV
	}
	if access&rdma.RemoteRead != 0 {
		flags |= C.FI_REMOTE_READ
	}
	if access&rdma.RemoteWrite != 0 {
		flags |= C.FI_REMOTE_WRITE
	}
	r := &region{dev: d, mem: mem, mapped: mapped, access: access}
	at := unsafe.Pointer(unsafe.SliceData(mem))
	for try := 0; ; try++ {
		var want C.uint64_t
		if !d.provKeys {
			want = C.uint64_t(random64())
		}
		ret := C.cf_reg(d.domain, at, C.size_t(len(mem)), flags, want, &r.mr)
		if ret == 0 {
			break
		}
		if ret == -C.FI_ENOKEY && try < 8 && !d.provKeys {
			continue // drawn twice
		}
		return nil, d.registerError(len(mem), ret)
	}
	r.key = rdma.Key(C.fi_mr_key(r.mr))
	r.desc = C.fi_mr_desc(r.mr)
	d.mu.Lock()
	d.regions[r] = struct{}{}
	d.mu.Unlock()
	return r, nil
}

// registerError names the limit on locked memory when that may be the reason.
func (d *device) registerError(size int, ret C.int) error {
	err := failure(fmt.Sprintf("registering %d bytes", size), ret)
	if ret == -C.FI_ENOMEM || ret == -C.FI_EAGAIN || ret == -C.FI_EPERM {
		held := uint64(0)
		d.mu.RLock()
		for r := range d.regions {
			held += uint64(len(r.mem))
		}
		d.mu.RUnlock()
		limit := "unlimited"
		var l syscall.Rlimit
		if syscall.Getrlimit(rlimitMemlock, &l) == nil && l.Cur != ^uint64(0) {
			limit = fmt.Sprintf("%d bytes", l.Cur)
		}
		err = fmt.Errorf("%w; the limit on locked memory (RLIMIT_MEMLOCK, ulimit -l) is %s, needed are %d bytes: "+
			"raise it, or choose a smaller slab (--slab-bytes)", err, limit, held+uint64(size))
	}
	return fmt.Errorf("%w: %w", rdma.ErrRegister, err)
}

// rlimitMemlock is RLIMIT_MEMLOCK, which package syscall does not name.
const rlimitMemlock = 8

// random64 is a key or token that cannot be guessed; never 0, so that zeroed
// memory is not a valid one by accident.
func random64() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails (crypto/rand)
		if v := binary.LittleEndian.Uint64(b[:]); v != 0 {
			return v
		}
	}
}

func (r *region) Bytes() []byte       { return r.mem }
func (r *region) Key() rdma.Key       { return r.key }
func (r *region) Access() rdma.Access { return r.access }

func (r *region) Remote() rdma.Remote {
	at := rdma.Remote{Key: r.key}
	if r.dev.virtual {
		at.Addr = uint64(r.base())
	}
	return at
}

func (r *region) base() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))) }

// Revoke deregisters. A card has released the memory then: it stores no more
// bytes under an invalid key (InfiniBand's "remote access error"), and
// deregistering returns after the stores of the Writes that it acknowledged.
// Software may store more bytes: libfabric's tcp completes a receive that has
// begun, and Soft-RoCE the packet that it copies.
func (r *region) Revoke() error {
	r.revoke.Do(func() {
		r.revoked.Store(true)
		if ret := C.cf_close(&r.mr.fid); ret != 0 {
			r.revokeErr = failure("deregistering memory", ret)
		}
	})
	return r.revokeErr
}

// Close deregisters. A card has released the memory then; libfabric's tcp may
// still be receiving into it, so in that case our own memory is unmapped only
// when no queue pair is left that existed until now.
func (r *region) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	d := r.dev
	d.mu.Lock()
	delete(d.regions, r)
	d.mu.Unlock()
	err := r.Revoke() // unpinning takes long: not under the lock
	if r.mapped {
		if err == nil && (r.alone || !d.manual()) {
			_ = syscall.Munmap(r.mem) // the card has released it
		} else {
			d.mu.Lock()
			d.unmapLater = append(d.unmapLater, lateUnmap{r.mem, d.nextQP})
			d.mu.Unlock()
			d.sweep()
		}
	}
	return err
}

// sweep unmaps memory that can no longer be in use.
func (d *device) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldest := d.nextQP + 1
	for n := range d.qps {
		oldest = min(oldest, n)
	}
	kept := d.unmapLater[:0]
	for _, g := range d.unmapLater {
		if g.last < oldest {
			_ = syscall.Munmap(g.mem)
		} else {
			kept = append(kept, g)
		}
	}
	clear(d.unmapLater[len(kept):])
	d.unmapLater = kept
}
