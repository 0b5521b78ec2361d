package client

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// TestServerStrategy: inserts of clients make the tree that rstar makes by the
// same strategy, in every collection.
func TestServerStrategy(t *testing.T) {
	shapes := map[rstar.Strategy][]int{}
	for _, by := range []rstar.Strategy{rstar.Revised, rstar.Original, rstar.OriginalDoubles} {
		s := startServer(t, server.Options{Strategy: by, Collections: []string{"second"}})
		want, err := rstar.New(rstar.Options{Strategy: by})
		if err != nil {
			t.Fatal(err)
		}
		defer want.Close()
		r := rand.New(rand.NewPCG(1, 2))
		items := make([]rstar.Item, 5000)
		for i := range items {
			x, y := r.Float64(), r.Float64()
			items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + 0.001, MaxY: y + 0.001}, ID: uint64(i)}
			if err := want.Insert(items[i].Rect, items[i].ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{model.DefaultCollection, "second"} {
			c := dial(t, s, Options{Transport: model.TransportSoft, Collection: name})
			if n, err := c.InsertMany(t.Context(), items); err != nil || n != len(items) {
				t.Fatal(n, err)
			}
			tr, err := s.Collection(name)
			if err != nil {
				t.Fatal(err)
			}
			got, wanted := tr.Stats(), want.Stats()
			if !slices.Equal(got.Nodes, wanted.Nodes) || got.Moves != wanted.Moves {
				t.Errorf("%v, %s: %v nodes, %d moves, want %v, %d", by, name, got.Nodes, got.Moves, wanted.Nodes, wanted.Moves)
			}
		}
		shapes[by] = want.Stats().Nodes
	}
	if slices.Equal(shapes[rstar.Revised], shapes[rstar.Original]) {
		t.Errorf("both strategies make %v nodes: these objects tell nothing", shapes[0])
	}
	if _, err := server.NewServer(server.Options{Strategy: 7, Logger: quiet()}); !errors.Is(err, model.ErrOption) ||
		!strings.Contains(err.Error(), "Strategy is 7, want Revised (0), Original (1) or OriginalDoubles (2)") {
		t.Errorf("strategy 7: %v", err)
	}
}

// TestOptionsBackoff: the client's policy has the given parameters, and the
// paper's without any.
func TestOptionsBackoff(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, name := range []string{"paper", "paper-literal"} {
		for want, b := range map[string]Backoff{
			"the threshold is 95 %": {}, "the threshold is 80 %": {T: 0.8, N: 4, Predictor: PredictMean},
		} {
			c := dial(t, s, Options{Transport: model.TransportSoft, Policy: name, Backoff: b})
			_, x, err := c.Explain(t.Context(), square(0, 0), 0)
			if err != nil || !strings.Contains(x.Why, want) {
				t.Errorf("%s, %v: %v, %+v", name, b, err, x)
			}
		}
	}
}
