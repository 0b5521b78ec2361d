package server

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// FuzzService: a message with any content gets an answer, and causes no panic.
func FuzzService(f *testing.F) {
	s, err := NewServer(Options{
		SlabBytes: 1 << 20, Records: []string{testRecords}, Transports: []string{model.TransportSoft}, Logger: quiet(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	for kind := wire.KindOpen; kind <= wire.KindSearchMany; kind++ {
		f.Add(byte(kind), wire.AppendRect(wire.AppendHead(nil, 0, 1), square(0, 0)))
		f.Add(byte(kind), wire.AppendItem(wire.AppendHead(nil, 0, 1), rstar.Item{Rect: square(0, 0), ID: 1}))
	}
	for kind, p := range recordRequests() {
		f.Add(byte(kind), p)
	}
	f.Add(byte(wire.KindPut), putUpload(2))
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		v, from := service{s: s, transport: model.TransportSoft}, new(peer)
		defer from.close(s)
		begun := append(wire.AppendPart(wire.AppendHead(nil, 1, 2), 0, 5), "valu"...)
		if k, ans, _ := v.process(from, wire.KindPart, begun); k != wire.KindReply {
			t.Fatal(wire.GetFailure(ans))
		}
		k, ans, w := v.process(from, fastmsg.Kind(kind), payload)
		switch {
		case w != nil && w.steps != nil: // much was inserted
			w.steps.close()
		case w != nil: // FuzzFeatureService begins such ones
		case k == wire.KindReply:
		case k == wire.KindFailure:
			if err := wire.GetFailure(ans); err == nil || errors.Is(err, model.ErrServer) {
				t.Fatalf("kind %d, payload %x: %v", kind, payload, err)
			}
		default:
			t.Fatalf("answer of kind %d", k)
		}
	})
}

// TestSilentFlood: connections without a preamble do not keep others waiting, and
// there are never more than maxSilent of them.
func TestSilentFlood(t *testing.T) {
	s := startServer(t, Options{})
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range maxSilent + 20 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	c := dial(t, s, client.Options{DialTimeout: time.Minute})
	if _, err := c.Count(t.Context(), square(0, 0)); err != nil {
		t.Fatal(err)
	}
	// The oldest was ended to make room, not because it took too long.
	if u := s.streams.silent.Use(); u.Cut < 20 || u.Used > maxSilent {
		t.Errorf("%+v, want 20 cut", u)
	}
	if err := conns[0].SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conns[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest of too many silent connections: %v, want its end", err)
	}
}
