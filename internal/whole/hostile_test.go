package whole

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// TestAnswersOutOfBounds: what another member answers is checked before it is used.
func TestAnswersOutOfBounds(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var tag int32
	kinds := []byte{frameFound}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		f := store.Found{ID: []byte("x"), Value: valueOf(t, orb.Point{1, 1})}
		for _, kind := range kinds {
			_ = writeFrame(out, kind, appendFound(nil, &f, tag))
		}
		_ = writeFrame(out, frameAnswer, []byte("{}"))
		_ = out.Flush()
		_, _ = w.Write(b.Bytes())
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	h := newHalf(t, 0, Options{
		View:    func() *View { return &View{Map: m, Self: 0, Primary: []string{"", l.Addr().String()}} },
		Connect: func(context.Context, string) (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) },
		Compile: func(string) (*filter.Program, error) { return nil, nil },
	})
	own, err := h.st.Collection("places")
	if err != nil {
		t.Fatal(err)
	}
	c := Collection{own, h.Groups}
	h.own(t, m, 0)
	var others []string // ids of the other group
	for i := range 100 {
		if id := string(rune('a' + i)); m.Of([]byte(id)) == 1 {
			others = append(others, id)
		}
	}
	p, err := c.Prepare(store.Query{Area: query.Box(0, 0, 2, 2)})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag = range []int32{-2, 1 << 20} {
		if err := c.GetMany(t.Context(), others, func(int, *store.Found) (bool, error) { return true, nil }); !errors.Is(err, errFormat) {
			t.Errorf("feature %d: %v", tag, err)
		}
		g := &rstar.Grid{X: []float64{0, 1, 2}, Y: []float64{0, 1, 2}, MostWide: 5}
		if _, _, err := c.Cells(t.Context(), p, g, true); !errors.Is(err, errFormat) {
			t.Errorf("cell %d: %v", tag, err)
		}
	}
	for _, kinds = range [][]byte{nil, {frameFound}, {frameStands}, {frameEvent}, {frameBoxes}} {
		if _, err := c.Describe(t.Context()); !errors.Is(err, errFormat) {
			t.Errorf("frames %q in place of a description: %v", kinds, err)
		}
	}
}
