package client

import (
	"testing"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Only simple finds are made together, and each as the client has requested it.
func TestBoxFind(t *testing.T) {
	box := query.Box(-1.5, 2, 170, 3)
	for _, c := range []struct {
		q    store.Query
		want bool
	}{
		{store.Query{Area: box}, true},
		{store.Query{Area: box, Limit: 7, Relation: feature.Within}, true},
		{store.Query{Area: box, Order: query.ByID}, false},
		{store.Query{Area: box, Order: query.ByID, After: "x"}, false},
		{store.Query{Area: box, Filter: "x"}, false},
		{store.Query{Area: box, Fields: feature.Selection{NoGeometry: true}}, false},
		{store.Query{Area: query.Circle(1, 2, 3)}, false},
		{store.Query{}, false},
	} {
		p, err := wire.AppendFindQuery(wire.AppendHead(nil, 3, 0), &c.q, feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		m := fastmsg.Message{Kind: wire.KindFind, Payload: p}
		if got := wire.IsBoxFind(&m); got != c.want || got && len(p) > fastmsg.BatchPayload {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
		if want := (store.BoxSearch{Box: box.Box, Relation: c.q.Relation, Limit: c.q.Limit}); c.want && wire.GetBoxFind(p) != want {
			t.Errorf("%+v: %+v, want %+v", c.q, wire.GetBoxFind(p), want)
		}
		m.Kind = wire.KindCountFeatures
		if wire.IsBoxFind(&m) {
			t.Errorf("%+v: a count", c.q)
		}
		for n := range p { // with any bytes, getBoxFind does not get too few
			m = fastmsg.Message{Kind: wire.KindFind, Payload: p[:n]}
			if wire.IsBoxFind(&m) {
				t.Errorf("%+v: %d bytes of %d", c.q, n, len(p))
			}
		}
	}
}
