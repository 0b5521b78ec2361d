package rdmatest

import (
	"errors"
	"math"
	"strings"

	"github.com/catfish-index/catfish/internal/rdma"
)

var localCases = []testCase{
	{"LocalErrors", caseLocalErrors},
	{"LocalSourceNeedsNoRight", caseLocalSource},
	{"BatchBeforeBadRequest", caseBatchBeforeBad},
}

// foreignRegion is a Region that no provider made.
type foreignRegion struct{ rdma.Region }

func (foreignRegion) Bytes() []byte       { return make([]byte, 4096) }
func (foreignRegion) Key() rdma.Key       { return 1 }
func (foreignRegion) Remote() rdma.Remote { return rdma.Remote{Key: 1} }
func (foreignRegion) Access() rdma.Access { return allAccess }

// caseLocalErrors: Post refuses a request that is wrong on this side, and
// the queue pair keeps working.
func caseLocalErrors(e *env) {
	p := e.pair(4096)
	readOnly := e.region(p.c.dev, 4096, rdma.RemoteRead|rdma.RemoteWrite)
	closed := e.region(p.c.dev, 4096, allAccess)
	e.must(closed.Close())
	good := write(1, p.c.mem, 0, p.s.mem, 0, 64)
	with := func(f func(w *rdma.WorkRequest)) rdma.WorkRequest {
		w := good
		f(&w)
		return w
	}
	for _, tc := range []struct {
		name string
		wr   rdma.WorkRequest
	}{
		{"op 0", with(func(w *rdma.WorkRequest) { w.Op = 0 })},
		{"op receive", with(func(w *rdma.WorkRequest) { w.Op = rdma.OpRecv })},
		{"op 99", with(func(w *rdma.WorkRequest) { w.Op = 99 })},
		{"offset -1", with(func(w *rdma.WorkRequest) { w.Local.Offset = -1 })},
		{"length -1", with(func(w *rdma.WorkRequest) { w.Local.Len = -1 })},
		{"past the end", with(func(w *rdma.WorkRequest) { w.Local.Offset = 4033 })},
		{"longer than the region", with(func(w *rdma.WorkRequest) { w.Local.Len = 4097 })},
		{"overflow", with(func(w *rdma.WorkRequest) {
			w.Local.Offset, w.Local.Len = math.MaxInt, math.MaxInt
		})},
		{"no region", with(func(w *rdma.WorkRequest) { w.Local.Region = nil })},
		{"foreign region", with(func(w *rdma.WorkRequest) { w.Local.Region = foreignRegion{} })},
		{"closed region", with(func(w *rdma.WorkRequest) { w.Local.Region = closed })},
		{"write-with-imm without region", with(func(w *rdma.WorkRequest) {
			w.Op, w.Local.Region = rdma.OpWriteImm, nil
		})},
		{"read past the end", with(func(w *rdma.WorkRequest) {
			w.Op, w.Local.Offset = rdma.OpRead, 4033
		})},
		{"read without LocalWrite", with(func(w *rdma.WorkRequest) {
			w.Op, w.Local.Region = rdma.OpRead, readOnly
		})},
	} {
		n, err := p.cq.Post([]rdma.WorkRequest{tc.wr})
		if n != 0 || !errors.Is(err, rdma.ErrBadRequest) {
			e.Errorf("%s: Post took %d: %v, want ErrBadRequest", tc.name, n, err)
		}
	}
	if n, err := p.cq.Post(nil); n != 0 || err != nil {
		e.Errorf("Post of nothing: %d, %v", n, err)
	}
	e.fence(p)
	e.silent(p.c.send, p.c.recv, p.s.send, p.s.recv)
}

// caseLocalSource: the source of a Write needs no access right.
func caseLocalSource(e *env) {
	p := e.pair(4096)
	r := e.region(p.c.dev, 64, 0)
	copy(r.Bytes(), "no rights")
	e.post(p.cq, write(1, r, 0, p.s.mem, 10, 9))
	e.takeOK(p.c.send, 1)
	e.fence(p)
	if got := p.s.mem.Bytes()[10:19]; string(got) != "no rights" {
		e.Errorf("target has %q", got)
	}
}

// caseBatchBeforeBad: n identifies the wrong request; those before it
// are sent, those after it are not.
func caseBatchBeforeBad(e *env) {
	p := e.pair(4096)
	bad := read(3, p.c.mem, 4000, p.s.mem, 0, 200)
	n, err := p.cq.Post([]rdma.WorkRequest{event(1, 1), event(2, 2), bad, event(4, 4)})
	if n != 2 || !errors.Is(err, rdma.ErrBadRequest) {
		e.Fatalf("Post took %d: %v, want 2 and ErrBadRequest", n, err)
	}
	if !strings.Contains(err.Error(), "4000") && !strings.Contains(err.Error(), "4200") {
		e.Errorf("the error does not name the offending bounds: %v", err)
	}
	e.takeOK(p.c.send, 2)
	for i, c := range e.takeOK(p.s.recv, 2) {
		if c.Imm != uint32(i+1) {
			e.Errorf("event %d has imm %d", i, c.Imm)
		}
	}
	e.fence(p)
	e.silent(p.c.send, p.s.recv)
}

func caseRegisterErrors(e *env) {
	d := e.open()
	for _, size := range []int{0, -1, math.MinInt, math.MaxInt} {
		if r, err := d.Register(size, allAccess); !errors.Is(err, rdma.ErrRegister) {
			e.Errorf("Register(%d): %v, %v, want ErrRegister", size, r, err)
		}
	}
	if _, err := d.Register(4096, 1<<7); !errors.Is(err, rdma.ErrRegister) {
		e.Errorf("Register with an unknown access right: %v, want ErrRegister", err)
	}
	r := e.region(d, 4096, rdma.LocalWrite) // the device still works
	e.must(r.Close())
}
