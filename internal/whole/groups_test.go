package whole

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"
	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each calls a function for each feature, which always passes.
type each func()

func (f each) Evaluate(filter.Input, uint64, filter.Stepper) (bool, error) {
	f()
	return true, nil
}

// halfOf is a group with its slots, and copies of all features, of which it shows those of its slots.
type halfOf struct {
	*Groups
	st *store.Store
}

func newHalf(t *testing.T, n int, o Options) *halfOf {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{SlabBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	c, err := st.CreateFeatures("places", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, _, err := c.Put(t.Context(), store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	o.Reread, o.Host, o.MaxBytes = func() {}, limits.Alone{Slots: limits.NewLongSlots()}, 1<<30
	h := &halfOf{New(o), st}
	h.ServeFeatures(st)
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return h
}

// own sets the slots that a group has by a map.
func (h *halfOf) own(t *testing.T, m *placement.Map, g placement.Index) {
	t.Helper()
	s := store.Slots{Epoch: m.Epoch}
	for slot, of := range m.Slots {
		if of == g {
			s.Owned.Add(uint16(slot))
		}
	}
	if err := h.st.SetSlots(s); err != nil {
		t.Error(err)
	}
}

// All slots of a group move to another one after the first has answered and before the other has:
// each feature counts once, and comes once.
func TestMapChangesBetweenAnswers(t *testing.T) {
	const n = 40
	before, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	after := *before
	after.Version, after.Epoch, after.Slots = 2, 2, [placement.Slots]placement.Index{}
	for i := range after.Slots {
		after.Slots[i] = 1
	}
	inA := 0
	for i := range n {
		if before.Of([]byte(fmt.Sprint(i))) == 0 {
			inA++
		}
	}
	for _, what := range []string{"count", "pages", "stream"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var view atomic.Pointer[View]
		var looked atomic.Int64
		answered := make(chan struct{})
		var moved atomic.Bool
		var a, b *halfOf
		a = newHalf(t, n, Options{View: view.Load, Connect: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}, Compile: func(source string) (*filter.Program, error) {
			return filter.New(source, 1000, each(func() {
				if looked.Add(1) == int64(inA) {
					close(answered)
				}
			})), nil
		}})
		b = newHalf(t, n, Options{View: view.Load, Check: func(http.Header, func()) (func() bool, error) {
			if !moved.Swap(true) {
				<-answered
				b.own(t, &after, 1)
				a.own(t, &after, 0)
				view.Store(&View{Map: &after, Primary: []string{"", l.Addr().String()}})
			}
			return func() bool { return true }, nil
		}, Compile: func(source string) (*filter.Program, error) { return filter.New(source, 1000, each(func() {})), nil }})
		a.own(t, before, 0)
		b.own(t, before, 1)
		view.Store(&View{Map: before, Primary: []string{"", l.Addr().String()}})
		go func() { _ = b.ServeMembers(l) }()
		c, err := Of(a.st, a.Groups).Collection("places")
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Where: filter.New("x", 1000, each(func() {})).From(stringer("x"))}
		if what == "stream" {
			q.Area = query.Box(0, 0, 2, 2)
		} else {
			q.Order = query.ByID
		}
		got := 0
		var ids []string
		if what == "count" {
			got, err = c.Count(t.Context(), q)
		} else {
			ready, e := c.Prepare(q)
			if e != nil {
				t.Fatal(e)
			}
			err = c.SearchWith(t.Context(), ready, new(store.Buffer), func(f *store.Found) (bool, error) {
				ids = append(ids, string(f.ID))
				return true, nil
			})
			slices.Sort(ids)
			got = len(slices.Compact(slices.Clone(ids)))
		}
		// What was given in no order cannot be taken back: the search is refused then.
		if refused := what == "stream" && again(err); !refused && (err != nil || got != n || what != "count" && len(ids) != n) {
			t.Errorf("%s: %d of %d, %d given, %v", what, got, n, len(ids), err)
		}
	}
}
