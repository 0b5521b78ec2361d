package server

import (
	"bufio"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// FuzzFeatureService: a message about features with any content is answered, later or
// at once, and leaves the server intact.
func FuzzFeatureService(f *testing.F) {
	s, err := NewServer(Options{
		SlabBytes: 4 << 20, Features: map[string]model.FeaturesOptions{testFeatures: {}}, Transports: []string{model.TransportSoft}, Logger: quiet(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	value := fuzzPlace(f)
	for kind, all := range featureRequests(f) {
		for _, p := range all {
			f.Add(byte(kind), p)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		if fastmsg.Kind(kind) == wire.KindBackup {
			return // A backup writes to disk.
		}
		c, end := net.Pipe()
		defer c.Close()
		a := newSocketAnswers(end, newPacedWriter(end), nil)
		defer a.end(false)
		v, from := service{s: s, transport: model.TransportSoft}, new(peer)
		defer from.close(s)
		begun := append(wire.AppendPart(wire.AppendHead(nil, 1, 2), 0, len(value)), value...)
		if k, ans, _ := v.process(from, wire.KindPart, begun); k != wire.KindReply {
			t.Fatal(wire.GetFailure(ans))
		}
		k, ans, w := v.process(from, fastmsg.Kind(kind), payload)
		switch {
		case w != nil && w.steps != nil:
			w.steps.close()
			return
		case w != nil:
			l, err := a.later(1, w.keeps)
			if err != nil {
				t.Fatal(err)
			}
			w.begin(reply{socket: l}, &v.writes)
			v.writes.Submit()
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			if k, _, ans, err = wire.ReadFrame(bufio.NewReader(c), nil, wire.MaxReply); err != nil {
				t.Fatalf("kind %d, payload %x: no answer: %v", kind, payload, err)
			}
		}
		switch k {
		case wire.KindReply:
		case wire.KindFailure:
			if err := wire.GetFailure(ans); err == nil || errors.Is(err, model.ErrServer) {
				t.Fatalf("kind %d, payload %x: %v", kind, payload, err)
			}
		default:
			t.Fatalf("answer of kind %d", k)
		}
	})
}
