package fastmsg

import (
	"encoding/binary"
	"testing"

	"github.com/catfish-index/catfish/rdma"
)

// left is where the answers lie that a stranger may fetch.
type left struct {
	ring    rdma.Remote
	lines   uint64
	next    uint64
	landing rdma.Region
}

// wait polls until a completion is what is wanted.
func (x *stranger) wait(t testing.TB, wanted func(c *rdma.Completion) bool) {
	t.Helper()
	for {
		var comps [1]rdma.Completion
		if x.cq.Poll(comps[:]) == 0 {
			if err := x.cq.Wait(within(t), -1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if comps[0].Status != rdma.StatusOK {
			t.Fatal(comps[0].Err())
		}
		if wanted(&comps[0]) {
			return
		}
	}
}

// findLeft waits for the message that says where the answers lie.
func (x *stranger) findLeft(t testing.TB) {
	t.Helper()
	x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRecv })
	b := x.region.Bytes()[MailboxBytes:]
	if h := decodeHeader(binary.LittleEndian.Uint64(b)); h.flags != FlagWhere {
		t.Fatalf("the first message has flags %#x, want %#x", h.flags, FlagWhere)
	}
	b = b[headerBytes:]
	l := &x.left
	l.ring = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
	l.lines, l.next = uint64(binary.LittleEndian.Uint32(b[16:])), binary.LittleEndian.Uint64(b[20:])
	var err error
	if l.landing, err = x.dev.Register(int(l.lines)*lineBytes, rdma.LocalWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.landing.Close() })
}

// takeLeft fetches until there is a message, says that it has all, and returns how many
// bytes of lines that was.
func (x *stranger) takeLeft(t testing.TB) int {
	t.Helper()
	l := &x.left
	if l.lines == 0 {
		x.findLeft(t)
	}
	from := l.next
	for l.next == from {
		if _, err := x.qp.Post([]rdma.WorkRequest{{
			Op: rdma.OpRead, Local: rdma.Buffer{Region: l.landing, Len: int(l.lines) * lineBytes}, Remote: l.ring,
		}}); err != nil {
			t.Fatal(err)
		}
		x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRead })
		for l.whole() {
		}
	}
	x.sayLeft(t, sayTook, l.next)
	return int(l.next-from) * lineBytes
}

func (x *stranger) sayLeft(t testing.TB, what uint32, line uint64) {
	t.Helper()
	x.send(t, 0, nil, what|uint32(line)&positionMask)
}

// whole takes the next message, if all of its lines are there.
func (l *left) whole() bool {
	line := func(at uint64) []byte { return l.landing.Bytes()[at%l.lines*lineBytes:][:lineBytes] }
	valid := func(at uint64) bool { return binary.LittleEndian.Uint32(line(at)) == uint32(at+1) }
	if !valid(l.next) {
		return false
	}
	h := decodeHeader(binary.LittleEndian.Uint64(line(l.next)[wordBytes:]))
	end := l.next + linesOf(int(h.size)-headerBytes-int(h.fill))
	for at := l.next; at < end; at++ {
		if !valid(at) {
			return false
		}
	}
	l.next = end
	return true
}
