package inmem

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	pageBytes = 4096
	// maxRegion prevents a mistake in a test from using up the machine's
	// memory.
	maxRegion = 1 << 32
)

// region implements rdma.Region on Go memory.
type region struct {
	dev    *Device
	b      []byte // aligned to a page, whole lines; size of them visible
	size   int
	access rdma.Access
	key    rdma.Key
	closed bool
}

// Register allocates and registers memory.
func (d *Device) Register(size int, access rdma.Access) (rdma.Region, error) {
	const known = rdma.LocalWrite | rdma.RemoteRead | rdma.RemoteWrite
	if size <= 0 || size > maxRegion {
		return nil, fmt.Errorf("%w: %d bytes, allowed 1 to %d", rdma.ErrRegister, size, maxRegion)
	}
	if access&^known != 0 {
		return nil, fmt.Errorf("%w: access %#b, known %#b", rdma.ErrRegister, access, known)
	}
	whole := (size + pageBytes - 1) / pageBytes * pageBytes
	b := make([]byte, whole+pageBytes)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) % pageBytes)
	b = b[skip : skip+whole : skip+whole]
	var key [8]byte
	_, _ = rand.Read(key[:]) // never fails

	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: device %s", rdma.ErrClosed, d.name)
	}
	if d.f.bug == RegionNotZeroed {
		b[size-1] = 1
	}
	r := &region{dev: d, b: b, size: size, access: access,
		key: rdma.Key(binary.LittleEndian.Uint64(key[:]))}
	d.regions[r] = struct{}{}
	d.f.regions[r.key] = r
	return r, nil
}

func (r *region) Bytes() []byte       { return r.b[:r.size:r.size] }
func (r *region) Key() rdma.Key       { return r.key }
func (r *region) Remote() rdma.Remote { return rdma.Remote{Key: r.key} }
func (r *region) Access() rdma.Access { return r.access }

func (r *region) Close() error {
	r.dev.f.mu.Lock()
	defer r.dev.f.mu.Unlock()
	r.closeLocked()
	return nil
}

// Revoke leaves the memory to the garbage collector, as Close does.
func (r *region) Revoke() error {
	if r.dev.f.bug == RevokeForgotten {
		return nil
	}
	return r.Close()
}

func (r *region) closeLocked() {
	r.closed = true
	delete(r.dev.regions, r)
	if r.dev.f.bug != StaleKeyWorks {
		delete(r.dev.f.regions, r.key)
	}
}

// check reports whether a remote range may be accessed, in the order in which
// a card checks: key, rights, bounds.
func (f *Fabric) checkLocked(target *Device, at rdma.Remote, n int, need rdma.Access) (*region, rdma.Status) {
	r := f.regions[at.Key]
	if r == nil || r.dev != target {
		return nil, rdma.StatusRemoteKey
	}
	if r.access&need == 0 && f.bug != NoAccessCheck {
		return r, rdma.StatusRemoteAccess
	}
	if at.Addr > math.MaxInt || int(at.Addr) > r.size || n > r.size-int(at.Addr) {
		return r, rdma.StatusRemoteBounds
	}
	return r, rdma.StatusOK
}

// readInto copies r from offset on into dst, each line as it was at one
// moment. A line is loaded twice, word by word; two equal copies show that no
// word changed in between, because a word that changes and changes back would
// need a version (package rdma) to be written twice.
func (r *region) readInto(dst []byte, offset int) {
	for len(dst) > 0 {
		start := offset &^ (rdma.LineBytes - 1)
		line := r.line(start)
		n := copy(dst, line[offset-start:])
		dst, offset = dst[n:], offset+n
	}
}

// storeHalves is the bug TornWord.
func (r *region) storeHalves(off int, b []byte) {
	half := func(i int) *uint32 { return (*uint32)(unsafe.Pointer(&r.b[off+i])) }
	atomic.StoreUint32(half(0), binary.NativeEndian.Uint32(b))
	for range 100 {
		runtime.Gosched()
	}
	atomic.StoreUint32(half(4), binary.NativeEndian.Uint32(b[4:]))
}

const lineWords = rdma.LineBytes / 8

func (r *region) line(start int) [rdma.LineBytes]byte {
	words := (*[lineWords]uint64)(unsafe.Pointer(&r.b[start])) // whole lines
	load := func(from, to int, w *[lineWords]uint64) {
		for i := from; i < to; i++ {
			w[i] = atomic.LoadUint64(&words[i])
		}
	}
	var a, b [lineWords]uint64
	if r.dev.f.bug == TornLine {
		load(0, lineWords/2, &a)
		runtime.Gosched()
		load(lineWords/2, lineWords, &a)
		return *(*[rdma.LineBytes]byte)(unsafe.Pointer(&a))
	}
	for {
		load(0, lineWords, &a)
		load(0, lineWords, &b)
		if a == b {
			return *(*[rdma.LineBytes]byte)(unsafe.Pointer(&a))
		}
	}
}
