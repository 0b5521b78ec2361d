package client

import (
	"errors"
	"reflect"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

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
