package micro

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// OneWay is a Write in one direction, as perftest's ib_write_lat measures it without a
// clock that both sides share: each writes to the other and looks at its own memory, and
// half of the time of both is one's. perftest looks at the last byte written, which needs
// a card that places bytes in order; here a word follows by a Write of its own (package
// rdma, "Order"), so that each way has two Writes in one Post.
//
//	client                                server
//	bytes, then word seq, size   ------>  looks at its word
//	looks at its word            <------  the same bytes, then the word
//
// Memory of both: the bytes, a guard, and the line of the word; that of the client has
// before it the bytes that it sends.

// looks is how often a side looks at its word between two looks at its context.
const looks = 1024

// mailbox is one side's memory, and how it writes to the other.
type mailbox struct {
	qp     rdma.QueuePair
	send   rdma.CompletionQueue
	mem    rdma.Region
	in     *atomic.Uint64 // where the peer writes its word
	out    int            // offset in mem of the words that are sent: a second lane
	bytes  int            // offset in mem of the bytes that are sent
	peer   rdma.Remote
	word   int // offset of the word at the peer
	sleeps bool
	wrs    [2]rdma.WorkRequest
	got    [2]rdma.Completion
}

// wordOf is the word at an offset.
//
// SAFETY: offset is a multiple of a line's bytes within mem, which begins at a page.
func wordOf(mem []byte, offset int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mem[offset : offset+rdma.LineBytes][0]))
}

// sendOffset is where the bytes that a client sends begin, after the n that it receives,
// their guard included, and the line of the word.
func sendOffset(n int) int { return lineAfter(n) + rdma.LineBytes }

// peerData is the place of a client's memory, for its server.
func peerData(r rdma.Remote) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(r.Key)), r.Addr)
}

// peerOf reads peerData; false: the client measures something else.
func peerOf(private []byte) (r rdma.Remote, ok bool) {
	if len(private) < 16 {
		return r, false
	}
	r = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(private)), Addr: binary.LittleEndian.Uint64(private[8:])}
	return r, r.Key != 0 || r.Addr != 0 // Some fabrics pad private data by zeros.
}

// lineAfter is the offset of the first line after n bytes.
func lineAfter(n int) int { return (n + rdma.LineBytes - 1) / rdma.LineBytes * rdma.LineBytes }

// write sends size bytes and the word, and waits for their completion.
func (m *mailbox) write(ctx context.Context, seq uint32, size int, patience time.Duration) error {
	binary.NativeEndian.PutUint64(m.mem.Bytes()[m.out:], uint64(size)<<32|uint64(seq))
	m.wrs = [2]rdma.WorkRequest{
		{Op: rdma.OpWrite, Unsignaled: true, Local: rdma.Buffer{Region: m.mem, Offset: m.bytes, Len: size}, Remote: m.peer},
		{Op: rdma.OpWrite, Local: rdma.Buffer{Region: m.mem, Offset: m.out, Len: 8}, Remote: m.peer.At(uint64(m.word))},
	}
	if err := post(ctx, m.qp, m.send, m.wrs[:], patience); err != nil {
		return err
	}
	_, err := rdmaprobe.Next(ctx, m.qp, m.send, m.got[:], patience)
	return err
}

// next waits for a word other than last.
func (m *mailbox) next(ctx context.Context, last uint64, patience time.Duration) (uint64, error) {
	until := time.Time{}
	for n := 1; ; n++ {
		if v := m.in.Load(); v != last {
			return v, nil
		}
		if n%looks == 0 {
			if until.IsZero() {
				until = time.Now().Add(patience)
			}
			if err := ctx.Err(); err != nil {
				return 0, context.Cause(ctx)
			}
			if err := m.qp.Err(); err != nil {
				return 0, err
			}
			if patience > 0 && time.Now().After(until) {
				return 0, fmt.Errorf("%w: no Write of the peer within %v", rdma.ErrTimeout, patience)
			}
		}
		if m.sleeps {
			time.Sleep(time.Microsecond) // The card is goroutines that need the processor.
		} else {
			runtime.Gosched()
		}
	}
}

// word is where a client writes its word.
func (t *target) word() *atomic.Uint64 { return wordOf(t.mem.Bytes(), lineAfter(len(t.want))) }

// serveOneWay answers each of a client's Writes by one; last is the word before the
// first. It returns when the connection or ctx ends.
func (t *target) serveOneWay(ctx context.Context, qp rdma.QueuePair, peer rdma.Remote, last uint64) error {
	word := lineAfter(len(t.want))
	m := &mailbox{
		qp: qp, send: t.send, mem: t.mem, in: t.word(), out: word + 8,
		peer: peer, word: word, sleeps: t.dev.Info().Emulated,
	}
	for {
		v, err := m.next(ctx, last, 0)
		if err != nil {
			return err
		}
		last = v
		size := int(v >> 32)
		if size > len(t.want)-guard {
			return fmt.Errorf("%w: a Write of %d bytes, want at most %d", rdmaprobe.ErrCorrupt, size, len(t.want)-guard)
		}
		if err := m.write(ctx, uint32(v), size, t.patience); err != nil {
			return err
		}
	}
}

// oneWay makes the Writes of a client.
type oneWay struct {
	*verbs
	box  mailbox
	seq  uint32
	last uint64
}

func newOneWay(v *verbs) *oneWay {
	word := lineAfter(len(v.want))
	return &oneWay{verbs: v, box: mailbox{
		qp: v.qp, send: v.send, mem: v.mem, in: wordOf(v.mem.Bytes(), word), out: word + 8, bytes: word + rdma.LineBytes,
		peer: v.remote, word: word, sleeps: v.dev.Info().Emulated,
	}}
}

func (o *oneWay) begin(_ context.Context, size int, seed uint64) error {
	o.size, o.seed = size, seed
	rdmaprobe.Fill(o.mem.Bytes()[o.box.bytes:][:size], seed)
	return nil
}

// ways are the Writes of a request.
func (o *oneWay) ways() int { return 2 }

func (o *oneWay) request(ctx context.Context) error {
	o.seq++
	if err := o.box.write(ctx, o.seq, o.size, o.patience); err != nil {
		return err
	}
	v, err := o.box.next(ctx, o.last, o.patience)
	if want := uint64(o.size)<<32 | uint64(o.seq); err == nil && v != want {
		err = fmt.Errorf("%w: word %#x came back, want %#x", rdmaprobe.ErrCorrupt, v, want)
	}
	o.last = v
	return err
}

// end compares the bytes that came back, and then the server's.
func (o *oneWay) end(ctx context.Context) error {
	n := len(o.want)
	rdmaprobe.Fill(o.want[:o.size], o.seed)
	if err := rdmaprobe.Compare(o.mem.Bytes()[:n], o.want, n, o.size); err != nil {
		return err
	}
	return o.verbs.end(ctx)
}
