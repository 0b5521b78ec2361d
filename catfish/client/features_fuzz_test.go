package client

import (
	"errors"
	"reflect"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// fuzzPlace is a feature's bytes.
func fuzzPlace(f testing.TB) []byte {
	value, err := feature.Append(nil, orb.Polygon{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}, []byte(`{"n":1}`))
	if err != nil {
		f.Fatal(err)
	}
	return value
}

// featureRequests is requests of each kind, to collection 1.
func featureRequests(f testing.TB) map[fastmsg.Kind][][]byte {
	value := fuzzPlace(f)
	all := map[fastmsg.Kind][][]byte{
		wire.KindNear: {}, wire.KindFind: {}, wire.KindCountFeatures: {}, wire.KindEraseWhere: {},
		wire.KindStore: {
			(&wire.Stored{Id: "a", Value: value}).Append(wire.AppendHead(nil, 1, 1)),
			(&wire.Stored{Id: "b", Value: value, Cond: wire.IfAbsent, Expiry: 1}).Append((&wire.Stored{Id: "a", Value: value}).Append(wire.AppendHead(nil, 1, 2))),
			(&wire.Stored{Id: "c", Value: []byte{2, 0, 0, 0}, Cond: wire.PutParts}).Append(wire.AppendHead(nil, 1, 1)),
		},
		wire.KindErase: {wire.AppendText(wire.AppendRevision(wire.AppendHead(nil, 1, 0), 0), "a")},
		wire.KindPatch: {append(wire.AppendText(wire.AppendRevision(wire.AppendHead(nil, 1, 0), 0), "a"), `{"n":null,"m":{"k":[1]}}`...)},
		wire.KindPart:  {append(wire.AppendPart(wire.AppendHead(nil, 1, 2), 0, len(value)), value...)},
	}
	options, err := wire.AppendFeaturesOptions(nil, model.FeaturesOptions{Space: feature.Planar, Title: "x"})
	if err != nil {
		f.Fatal(err)
	}
	all[wire.KindCreateFeatures] = [][]byte{append(options, "more"...)}
	for _, q := range []store.Query{
		{},
		{Area: query.Box(170, -10, -170, 10), Limit: 3, Order: query.ByID, After: "a"},
		{Area: query.Circle(1, 2, 1e5), Filter: "properties.n > 0", Relation: feature.Within},
		{Area: query.Polygon(orb.MultiPolygon{{{{0, 0}, {3, 0}, {3, 2}, {0, 0}}}}), Relation: feature.Contains},
	} {
		for _, kind := range []fastmsg.Kind{wire.KindFind, wire.KindCountFeatures, wire.KindEraseWhere} {
			b, err := wire.AppendFindQuery(wire.AppendHead(nil, 1, 0), &q, feature.Geographic)
			if err != nil {
				f.Fatal(err)
			}
			all[kind] = append(all[kind], b)
		}
	}
	near, err := wire.AppendNear(wire.AppendHead(nil, 1, 3), &store.NearestQuery{X: 179, Y: 1, Within: 1e6, Filter: "id != 'a'"})
	if err != nil {
		f.Fatal(err)
	}
	all[wire.KindNear] = append(all[wire.KindNear], near)
	return all
}

// FuzzFeatureAnswers: a client takes any answer about features without panic, and a
// server any query. Both decode what was encoded.
func FuzzFeatureAnswers(f *testing.F) {
	found := store.Found{ID: []byte("a"), Value: fuzzPlace(f), Revision: 3}
	f.Add(wire.AppendFeature([]byte{1}, &found))
	f.Add((&wire.OpenFeatures{NodeBytes: 704}).Append(nil))
	f.Add(wire.AppendRevision(nil, 5))
	f.Add(append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0}, wire.AppendFailure(nil, errors.New("x"), 0)...))
	for _, all := range featureRequests(f) {
		for _, p := range all {
			f.Add(p[min(wire.HeadBytes, len(p)):])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == wire.OpenFeaturesBytes {
			if o, err := wire.GetOpenFeatures(b); err == nil && o.NodeBytes > wire.MaxNode {
				t.Fatalf("%+v", o)
			}
		}
		for _, kind := range []fastmsg.Kind{wire.KindFind, wire.KindNear, wire.KindCountFeatures} {
			g := &findQuery{kind: kind}
			if err := g.take(b); err != nil {
				continue
			}
			bytes := 0
			for i := range g.found {
				bytes += len(g.found[i].Value) + len(g.found[i].ID)
				g.found[i].View.Geometry()
				_ = g.found[i].Feature()
			}
			if bytes > len(b) {
				t.Fatal("more than there was")
			}
		}
		_ = takeResults(b, len(b)%2 == 0, make([]model.PutResult, 3))
		if rest := b; len(rest) > 0 {
			for err := error(nil); err == nil && len(rest) > 0; _, rest, err = wire.GetStored(rest) {
			}
		}
		_, _, _ = wire.GetFeaturesOptions(b)
		_, _ = wire.GetNear(3, b)
		q, err := wire.GetFindQuery(b)
		if err != nil {
			return
		}
		if _, err := q.Prepare(feature.Geographic, cel.NewCache(1)); err != nil {
			return
		}
		again, err := wire.AppendFindQuery(nil, &q, feature.Geographic)
		if err != nil {
			t.Fatalf("%+v was taken, and cannot be sent: %v", q, err)
		}
		if p, err := wire.GetFindQuery(again); err != nil || q.Area == nil && !reflect.DeepEqual(p, q) {
			t.Fatalf("%+v became %+v, %v", q, p, err)
		}
	})
}
