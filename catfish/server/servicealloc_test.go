//go:build !race

package server

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestServiceAllocs: once its buffers are large enough, a service answers without
// allocating. Under the race detector sync.Pool drops objects at random.
func TestServiceAllocs(t *testing.T) {
	s, err := NewServer(Options{SlabBytes: 1 << 20, Transports: []string{model.TransportTCP}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range uint64(500) {
		if err := tree(t, s).Insert(square(float64(i), 0), i); err != nil {
			t.Fatal(err)
		}
	}
	all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 9}
	search := wire.AppendRect(wire.AppendHead(nil, 0, 0), all)
	many := wire.AppendHead(nil, 0, 3)
	for _, q := range []rstar.Rect{all, square(5.5, 0), square(-9, 0)} {
		many = wire.AppendRect(many, q)
	}
	near := wire.AppendRect(wire.AppendHead(nil, 0, 2), all)[:wire.HeadBytes+16] // k 2, its corner
	item := wire.AppendItem(wire.AppendHead(nil, 0, 0), rstar.Item{Rect: square(7, 7), ID: 1000})
	v, from := service{s: s, transport: model.TransportTCP}, new(peer)
	ask := func(kind fastmsg.Kind, p []byte, want int) {
		if k, b, _ := v.process(from, kind, p); k != wire.KindReply || len(b) != want {
			t.Fatalf("request kind %d: answer of kind %d, %d bytes, want %d", kind, k, len(b), want)
		}
	}
	paced := &pacedWriter{c: &deadlines{}}
	answers := s.budgets.answers.Open("a", nil)
	defer answers.Close()
	var account limits.Holder = answers
	for _, c := range []struct {
		name string
		ask  func()
	}{
		{"plain socket", func() {
			w := s.takeWork(paced, from, account)
			if err := w.answer(wire.KindSearch, 1, search, true); err != nil {
				t.Fatal(err)
			}
			s.putWork(w)
		}},
		{"search", func() { ask(wire.KindSearch, search, 500*wire.ItemBytes) }},
		{"count", func() { ask(wire.KindCount, search, 8) }},
		{"nearest", func() { ask(wire.KindNearest, near, 2*wire.ItemBytes) }},
		{"searchMany", func() { ask(wire.KindSearchMany, many, 3*4+502*wire.ItemBytes) }},
		{"insert and delete", func() {
			ask(wire.KindInsert, item, 0)
			ask(wire.KindDelete, item, 1)
		}},
	} {
		c.ask() // grows the buffers
		if n := testing.AllocsPerRun(1000, c.ask); n > 0.5 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
