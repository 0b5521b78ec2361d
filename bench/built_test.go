package bench

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// TestStartCatfishTree: the server's tree equals the one that rstar builds
// from the same objects, with the job's strategy and in the same way.
func TestStartCatfishTree(t *testing.T) {
	src, err := OpenDataset("uniform", 4000, 3)
	if err != nil {
		t.Fatal(err)
	}
	items, err := datasets.Collect(src)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]bool{}
	for _, by := range []rstar.Strategy{rstar.Revised, rstar.Original} {
		for _, inserted := range []bool{false, true} {
			want, err := rstar.New(rstar.Options{Strategy: by})
			if err != nil {
				t.Fatal(err)
			}
			defer want.Close()
			if inserted {
				err = InsertAll(t.Context(), want, items, func(string) {})
			} else {
				err = want.Load(items)
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := StartCatfish(t.Context(), ServerJob{
				Dataset: "uniform", Objects: 4000, Seed: 3, Transport: "soft", Strategy: by, Inserted: inserted,
			}, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			got, wanted := s.(*server).tree.Stats(), want.Stats()
			if !slices.Equal(got.Nodes, wanted.Nodes) || got.Moves != wanted.Moves || got.Len != 4000 {
				t.Errorf("%s: %+v, want %+v", TreeText(by, inserted), got, wanted)
			}
			shape, err := json.Marshal(wanted.Nodes)
			if err != nil {
				t.Fatal(err)
			}
			shapes[string(shape)] = true
			// The client's policy has the job's parameters.
			c, err := ClientJob{
				Addr: s.Addr(), Transport: "soft", Policy: "paper", Backoff: policy.Backoff{T: 0.5},
			}.Dial(t.Context(), catfish.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, x, err := c.Explain(t.Context(), rstar.Rect{}, 1); err != nil || !strings.Contains(x.Why, "threshold is 50 %") {
				t.Errorf("%v, %+v", err, x)
			}
			if err := errors.Join(c.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	if len(shapes) < 3 { // Strategies differ only for inserted objects.
		t.Errorf("trees of %v only: these objects tell nothing", shapes)
	}
}

// TestInsertAll: InsertAll reports its progress, stops when ctx is cancelled,
// and names the object that could not be inserted.
func TestInsertAll(t *testing.T) {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	items := make([]rstar.Item, 2*noteInserts+1)
	for i := range items {
		x := float64(i % 1000)
		y := float64(i / 1000)
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}, ID: uint64(i)}
	}
	var notes []string
	if err := InsertAll(t.Context(), tree, items, func(s string) { notes = append(notes, s) }); err != nil || tree.Len() != len(items) {
		t.Errorf("%v, %d of %d objects", err, tree.Len(), len(items))
	}
	if want := []string{"inserted 250000 of 500001 objects", "inserted 500000 of 500001 objects"}; !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := InsertAll(ctx, tree, items, func(string) {}); !errors.Is(err, enough) {
		t.Errorf("cancelled: %v", err)
	}
	bad := []rstar.Item{{}, {Rect: rstar.Rect{MinX: 1}}}
	if err := InsertAll(t.Context(), tree, bad, func(string) {}); err == nil || !strings.Contains(err.Error(), "object 2 of 2") {
		t.Errorf("a rectangle turned inside out: %v", err)
	}
}

// TestKnobsReachChildrenAndRows: the settings of tree and policy reach the
// children and the rows. Rows without them stand for the defaults.
func TestKnobsReachChildrenAndRows(t *testing.T) {
	cfg := Config{
		Schemes: []string{"fast", "paper"}, Strategy: rstar.Original, Inserted: true,
		Backoff: policy.Backoff{N: 4, Predictor: policy.Mean},
	}.withDefaults()
	var server ServerJob
	var client ClientJob
	again(t, cfg.serverJob(), &server)
	again(t, cfg.clientJob("paper", 0, ServerReady{}), &client)
	if server.Strategy != rstar.Original || !server.Inserted || client.Backoff != cfg.Backoff {
		t.Errorf("%+v\n%+v", server, client)
	}
	of := func(cfg Config, scheme string) (r Row) {
		again(t, newRow(cfg, scheme, []*outcome{{clients: []ClientReady{{}}}}), &r)
		return r
	}
	r := of(cfg, "paper")
	if r.Strategy != rstar.Original || !r.Inserted || r.Backoff != (policy.Backoff{N: 4, T: 0.95, Predictor: policy.Mean}) {
		t.Errorf("%+v", r)
	}
	if r = of(cfg, "fast"); r.Backoff != (policy.Backoff{}) {
		t.Errorf("fast has a back-off: %+v", r)
	}
	plain := Config{}.withDefaults()
	if r = of(plain, "paper-literal"); r.Strategy != rstar.Revised || r.Inserted || !r.Backoff.IsPaper() || r.Backoff.N != 8 {
		t.Errorf("%+v", r)
	}
	var old Row
	if err := json.Unmarshal([]byte(`{"scheme":"paper"}`), &old); err != nil || old.Strategy != rstar.Revised ||
		old.Inserted || !old.Backoff.IsPaper() {
		t.Errorf("%v, %+v", err, old)
	}
	if got := knobs([]Row{of(cfg, "fast"), of(cfg, "paper")}); !slices.Equal(got, []string{
		"original R*-tree, objects inserted one by one", "paper: N = 4, T = 95 %, predictor mean",
	}) {
		t.Errorf("%q", got)
	}
	if got := knobs([]Row{of(plain, "fast"), of(plain, "paper")}); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// again writes v as JSON and reads it into to.
func again(t *testing.T, v, to any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	if reflect.ValueOf(to).Elem().IsZero() {
		t.Fatalf("%s is read as nothing", b)
	}
}

// TestStepsKnobs: rows of load steps have these settings too.
func TestStepsKnobs(t *testing.T) {
	cfg := quickStep()
	cfg.Schemes = []string{"paper"}
	cfg.Strategy, cfg.Inserted, cfg.Backoff.T = rstar.Original, true, 0.8
	err := Steps(t.Context(), cfg, fakeSpawn(""), func(string) {}, func(r StepRow) {
		if r.Strategy != rstar.Original || !r.Inserted || r.Backoff != (policy.Backoff{N: 8, T: 0.8, Predictor: policy.Latest}) {
			t.Errorf("%+v", r)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
