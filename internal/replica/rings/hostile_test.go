package rings

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/tailword"
)

// write writes bytes into the follower's ring, and a tail word, as a hostile primary does.
func (p *pair) write(b []byte, word uint64) {
	p.t.Helper()
	s := p.s
	copy(s.mirror.Bytes(), b)
	binary.LittleEndian.PutUint64(s.mirror.Bytes()[s.size:], word)
	wrs := []rdma.WorkRequest{s.write(0, max(len(b), 8)), {
		Op: rdma.OpWriteImm, Local: rdma.Buffer{Region: s.mirror, Offset: s.size, Len: tailword.Bytes}, Remote: s.ring.At(uint64(s.size)),
	}}
	if _, err := s.post.qp.Post(wrs); err != nil {
		p.t.Fatal(err)
	}
}

// What no primary writes ends the lane with an error that names it. No frame is delivered.
func TestHostilePrimary(t *testing.T) {
	const ring = lane.MinRingBytes
	frame := func(change func(b []byte)) []byte {
		f := entries(1, 1, 1, 2, 3)
		f.Flags = lane.Ends
		b := make([]byte, lane.Size(3))
		f.Put(b)
		if change != nil {
			change(b)
		}
		return b
	}
	continued := entries(1, 1, 1)
	continued.Flags = lane.Continues
	second := make([]byte, lane.Size(1))
	continued.Put(second)
	long := entries(1, 1, make([]byte, ring/2)...)
	long.Flags = lane.Ends
	tooLong := make([]byte, lane.Size(ring/2))
	long.Put(tooLong)
	pad := make([]byte, 128)
	lane.PutPad(pad, 1)
	size := uint64(len(frame(nil)))
	for _, tc := range []struct {
		name string
		b    []byte
		word uint64
		want string
	}{
		{"a forged frame", frame(func(b []byte) { b[lane.HeaderBytes] ^= 1 }), tailword.Of(size), "check sum"},
		{"a frame beyond the ring", frame(func(b []byte) { binary.LittleEndian.PutUint32(b, ring+8) }), tailword.Of(size), "4104 bytes"},
		{"a frame beyond the tail", frame(nil), tailword.Of(size - 8), "allowed are"},
		{"a frame without a header", frame(nil), tailword.Of(8), "announced"},
		{"a frame that is too long", tooLong, tailword.Of(uint64(len(tooLong))), "at most 2048"},
		{"a part without a beginning", second, tailword.Of(uint64(len(second))), "a batch has begun: false"},
		{"a pad before the end", pad, tailword.Of(128), "a pad of 128 bytes"},
		{"no frame", make([]byte, 64), tailword.Of(64), "kind 0"},
		{"a tail beyond the ring", frame(nil), tailword.Of(ring + 8), "4104 bytes ahead"},
		{"a tail that goes back", frame(nil), tailword.Of(math.MaxUint64 - 7), "bytes ahead"},
		{"a word that is none", frame(nil), 0xdeadbeef, "complements"},
		{"a word of zeros", frame(nil), 0, "complements"},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
			each(t, ring, func(p *pair) {
				p.write(tc.b, tc.word)
				err := next(p, "error", p.receiver)
				if !errors.Is(err, ErrPeer) || !strings.Contains(err.Error(), tc.want) {
					p.t.Errorf("%v, want %q", err, tc.want)
				}
				if len(p.read) != 0 {
					p.t.Errorf("%d frames were delivered", len(p.read))
				}
			})
		})
	}
}

// What no follower writes ends the lane, and no acknowledgement is taken.
func TestHostileFollower(t *testing.T) {
	line := func(a lane.Ack) []byte {
		b := make([]byte, lane.AckBytes)
		a.Put(b)
		return b
	}
	good := lane.Ack{Session: 1, Term: 1, Received: 1}
	for _, tc := range []struct {
		name string
		b    []byte
		want string
	}{
		{"ones", []byte(strings.Repeat("\xff", lane.AckBytes)), "check sum"},
		{"a flipped bit", append([]byte{3}, line(good)[1:]...), "check sum"},
		{"a revision that was not sent", line(lane.Ack{Session: 1, Term: 1, Received: 2}), "revision 2"},
		{"bytes that were not sent", line(lane.Ack{Session: 1, Term: 1, Consumed: 1 << 20}), "1048576 bytes"},
		{"durable, not received", line(lane.Ack{Session: 1, Term: 1, Durable: 1}), "1 durable"},
		{"no session", line(lane.Ack{Term: 1}), "session 0"},
	} {
		t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
			each(t, lane.MinRingBytes, func(p *pair) {
				p.send(entries(1, 1, 1))
				p.writeLine(tc.b)
				err := next(p, "error", p.sender)
				if !errors.Is(err, ErrPeer) || !strings.Contains(err.Error(), tc.want) {
					p.t.Errorf("%v, want %q", err, tc.want)
				}
				if len(p.acks) != 0 {
					p.t.Errorf("%d acknowledgements were taken", len(p.acks))
				}
			})
		})
	}
	t.Run("a_line_that_goes_back", func(t *testing.T) {
		each(t, lane.MinRingBytes, func(p *pair) {
			p.send(entries(1, 2, 1))
			p.writeLine(line(lane.Ack{Session: 1, Term: 1, Received: 2}))
			next(p, "acknowledgement", p.acks)
			p.writeLine(line(good))
			if err := next(p, "error", p.sender); !errors.Is(err, ErrPeer) || !strings.Contains(err.Error(), "after") {
				p.t.Error(err)
			}
		})
	})
}

// writeLine writes bytes into the primary's line.
func (p *pair) writeLine(b []byte) {
	p.t.Helper()
	copy(p.r.sources.Bytes(), b)
	wr := []rdma.WorkRequest{{
		Op: rdma.OpWriteImm, Local: rdma.Buffer{Region: p.r.sources, Len: lane.AckBytes}, Remote: p.r.line,
	}}
	if _, err := p.r.post.qp.Post(wr); err != nil {
		p.t.Fatal(err)
	}
}

// A follower cannot write beside its line, nor a primary beside the ring: the queue pair ends.
func TestWritesBesideEndTheLane(t *testing.T) {
	each(t, lane.MinRingBytes, func(p *pair) {
		wr := []rdma.WorkRequest{{
			Op: rdma.OpWrite, Local: rdma.Buffer{Region: p.s.mirror, Len: 64}, Remote: p.s.ring.At(lane.RegionBytes(lane.MinRingBytes) - 8),
		}}
		if _, err := p.s.post.qp.Post(wr); err != nil {
			p.t.Fatal(err)
		}
		if err := next(p, "end of the sender", p.sender); err == nil {
			p.t.Error("no error")
		}
		if err := next(p, "end of the receiver", p.receiver); err == nil {
			p.t.Error("no error")
		}
	})
}
