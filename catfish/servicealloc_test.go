//go:build !race

package catfish

import (
	"testing"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// TestServiceAllocs: once its buffers are large enough, a service answers without
// allocating. Under the race detector sync.Pool drops objects at random.
func TestServiceAllocs(t *testing.T) {
	s, err := NewServer(ServerOptions{SlabBytes: 1 << 20, Transports: []string{TransportTCP}, Logger: quiet()})
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
	search := appendRect(appendHead(nil, 0, 0), all)
	many := appendHead(nil, 0, 3)
	for _, q := range []rstar.Rect{all, square(5.5, 0), square(-9, 0)} {
		many = appendRect(many, q)
	}
	near := appendRect(appendHead(nil, 0, 2), all)[:headBytes+16] // k 2, its corner
	item := appendItem(appendHead(nil, 0, 0), rstar.Item{Rect: square(7, 7), ID: 1000})
	v := service{s: s, transport: TransportTCP}
	ask := func(kind fastmsg.Kind, p []byte, want int) {
		if k, b, _ := v.process(kind, p); k != kindReply || len(b) != want {
			t.Fatalf("request kind %d: answer of kind %d, %d bytes, want %d", kind, k, len(b), want)
		}
	}
	paced, peer := &pacedWriter{c: &deadlines{}}, &tcpPeer{}
	answers := s.budgets.answers.Open("a", nil)
	defer answers.Close()
	var account limits.Holder = answers
	for _, c := range []struct {
		name string
		ask  func()
	}{
		{"plain socket", func() {
			w := s.takeWork(paced, peer, 0)
			if err := w.answer(kindSearch, 1, search, account, true); err != nil {
				t.Fatal(err)
			}
			s.putWork(w, account)
		}},
		{"search", func() { ask(kindSearch, search, 500*itemBytes) }},
		{"count", func() { ask(kindCount, search, 8) }},
		{"nearest", func() { ask(kindNearest, near, 2*itemBytes) }},
		{"searchMany", func() { ask(kindSearchMany, many, 3*4+502*itemBytes) }},
		{"insert and delete", func() {
			ask(kindInsert, item, 0)
			ask(kindDelete, item, 1)
		}},
	} {
		c.ask() // grows the buffers
		if n := testing.AllocsPerRun(1000, c.ask); n > 0.5 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
