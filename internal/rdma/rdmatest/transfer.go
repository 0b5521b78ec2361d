package rdmatest

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

var transferCases = []testCase{
	{"RoundTrip", caseRoundTrip},
	{"Region", caseRegion},
	{"RegisterErrors", caseRegisterErrors},
	{"WriteContent", caseWriteContent},
	{"ReadContent", caseReadContent},
	{"CompletionFields", caseCompletionFields},
	{"UnsignaledIsSilent", caseUnsignaled},
}

// caseRoundTrip is the smallest whole exchange.
func caseRoundTrip(e *env) {
	p := e.pair(4096)
	copy(p.c.mem.Bytes(), "over and out")
	e.post(p.cq, writeImm(1, 7, p.c.mem, 0, p.s.mem, 100, 12))
	e.takeOK(p.s.recv, 1)
	if got := p.s.mem.Bytes()[100:112]; string(got) != "over and out" {
		e.Errorf("target has %q", got)
	}
	e.post(p.sq, read(2, p.s.mem, 500, p.c.mem, 5, 3))
	e.takeOK(p.s.send, 1)
	if got := p.s.mem.Bytes()[500:503]; string(got) != "and" {
		e.Errorf("read %q", got)
	}
	e.takeOK(p.c.send, 1)
	if p.c.dev.Info().Provider == "" {
		e.Error("Info does not name the provider")
	}
}

func caseRegion(e *env) {
	d := e.open()
	seen := map[rdma.Key]bool{}
	for _, size := range []int{1, 64, 4095, 4096, 4097, 1 << 20} {
		r := e.region(d, size, rdma.RemoteRead)
		b := r.Bytes()
		if len(b) != size {
			e.Errorf("region of %d bytes has %d", size, len(b))
		}
		if uintptr(unsafe.Pointer(&b[0]))%4096 != 0 {
			e.Errorf("region of %d bytes is not aligned to a page", size)
		}
		if len(bytes.Trim(b, "\x00")) != 0 {
			e.Errorf("region of %d bytes is not zeroed", size)
		}
		if r.Access() != rdma.RemoteRead {
			e.Errorf("access %b, registered with %b", r.Access(), rdma.RemoteRead)
		}
		if seen[r.Key()] {
			e.Errorf("key %#x given twice", r.Key())
		}
		seen[r.Key()] = true
	}
}

// transferSizes are around a line, a page, and a message of many frames.
var transferSizes = []int{0, 1, 63, 64, 65, 4096, 1 << 20}

// transferOffsets (local, remote) cover all alignments to lines and words.
var transferOffsets = [][2]int{{0, 0}, {1, 0}, {0, 1}, {63, 65}, {7, 4093}, {64, 128}}

const transferBytes = 1<<20 + 2*4096

// eachTransfer runs f for each size and pair of offsets.
func eachTransfer(f func(id uint64, size, lo, ro int, name string)) {
	id := uint64(1)
	for _, n := range transferSizes {
		for _, o := range transferOffsets {
			f(id, n, o[0], o[1], fmt.Sprintf("%d bytes from local %d, remote %d", n, o[0], o[1]))
			id++
		}
	}
}

// caseWriteContent compares the target's whole memory: a Write changes
// its bytes and no others.
func caseWriteContent(e *env) {
	p := e.pair(transferBytes)
	src, dst := p.c.mem.Bytes(), p.s.mem.Bytes()
	want := make([]byte, transferBytes)
	fill(src, 1)
	eachTransfer(func(id uint64, n, lo, ro int, name string) {
		clear(dst[:ro+n+64])
		clear(want[:ro+n+64])
		copy(want[ro:ro+n], src[lo:lo+n])
		e.post(p.cq, write(id, p.c.mem, lo, p.s.mem, ro, n))
		c := e.takeOK(p.c.send, 1)[0]
		if c.ID != id || int(c.Bytes) != n {
			e.Errorf("%s: completion says ID %d, %d bytes", name, c.ID, c.Bytes)
		}
		e.fence(p)
		if !bytes.Equal(dst, want) {
			e.Fatalf("%s: the target's memory is wrong", name)
		}
	})
}

// caseReadContent compares the initiator's whole memory.
func caseReadContent(e *env) {
	p := e.pair(transferBytes)
	src, dst := p.s.mem.Bytes(), p.c.mem.Bytes()
	want := make([]byte, transferBytes)
	fill(src, 2)
	eachTransfer(func(id uint64, n, lo, ro int, name string) {
		clear(dst[:lo+n+64])
		clear(want[:lo+n+64])
		copy(want[lo:lo+n], src[ro:ro+n])
		e.post(p.cq, read(id, p.c.mem, lo, p.s.mem, ro, n))
		c := e.takeOK(p.c.send, 1)[0]
		if c.ID != id || int(c.Bytes) != n {
			e.Errorf("%s: completion says ID %d, %d bytes", name, c.ID, c.Bytes)
		}
		if !bytes.Equal(dst, want) {
			e.Fatalf("%s: the initiator's memory is wrong", name)
		}
	})
}

// caseCompletionFields checks each field, in posting order, on both
// sides.
func caseCompletionFields(e *env) {
	type tag struct{ name string }
	ctag := &tag{"c"}
	p := e.pair(4096, func(c *rdma.QPConfig) { c.Context = ctag })
	if p.cq.Context() != any(ctag) || p.sq.Context() != any(ctag) {
		e.Error("Context does not come back")
	}
	if p.cq.Peer() == "" || p.sq.Peer() == "" {
		e.Error("Peer is not named")
	}
	ids := []uint64{0, 1<<64 - 1, 5, 5, 1 << 40}
	e.post(p.cq,
		read(ids[0], p.c.mem, 0, p.s.mem, 0, 10),
		write(ids[1], p.c.mem, 0, p.s.mem, 0, 20),
		writeImm(ids[2], 0xdeadbeef, p.c.mem, 0, p.s.mem, 0, 30),
		event(ids[3], 0),
		read(ids[4], p.c.mem, 0, p.s.mem, 0, 40))
	wantSend := []rdma.Completion{
		{Op: rdma.OpRead, ID: ids[0], Bytes: 10, QP: p.cq},
		{Op: rdma.OpWrite, ID: ids[1], Bytes: 20, QP: p.cq},
		{Op: rdma.OpWriteImm, ID: ids[2], Bytes: 30, QP: p.cq},
		{Op: rdma.OpWriteImm, ID: ids[3], Bytes: 0, QP: p.cq},
		{Op: rdma.OpRead, ID: ids[4], Bytes: 40, QP: p.cq},
	}
	for i, c := range e.take(p.c.send, 5) {
		c.Imm = 0 // for OpRecv only
		if c != wantSend[i] {
			e.Errorf("send completion %d: %+v, want %+v", i, c, wantSend[i])
		}
	}
	wantRecv := []rdma.Completion{
		{Op: rdma.OpRecv, Imm: 0xdeadbeef, Bytes: 30, QP: p.sq},
		{Op: rdma.OpRecv, QP: p.sq},
	}
	for i, c := range e.take(p.s.recv, 2) {
		if c != wantRecv[i] {
			e.Errorf("event %d: %+v, want %+v", i, c, wantRecv[i])
		}
	}
	if p.cq.Err() != nil || p.sq.Err() != nil {
		e.Errorf("Err of working queue pairs: %v, %v", p.cq.Err(), p.sq.Err())
	}
}

// caseUnsignaled: a signaled request's completion stands for all before it.
func caseUnsignaled(e *env) {
	p := e.pair(8192)
	const rounds, group = 300, 8 // 2,400 requests, ten times the depth
	src := p.c.mem.Bytes()
	for r := range rounds {
		fill(src[:group*64], uint64(r))
		var wrs []rdma.WorkRequest
		for i := range group {
			w := write(uint64(i), p.c.mem, i*64, p.s.mem, i*64, 64)
			w.Unsignaled = i != group-1
			wrs = append(wrs, w)
		}
		e.post(p.cq, wrs...)
		if c := e.takeOK(p.c.send, 1)[0]; c.ID != group-1 {
			e.Fatalf("round %d: completion of request %d, which was unsignaled", r, c.ID)
		}
	}
	e.post(p.cq, unsignaled(event(50, 1)))
	e.takeOK(p.s.recv, 1)
	e.fence(p) // takes one completion: it must be the fence's
	if !bytes.Equal(src[:group*64], p.s.mem.Bytes()[:group*64]) {
		e.Error("unsignaled writes did not arrive")
	}
}
