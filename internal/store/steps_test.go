package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// slowFilter looks at each letter of longText with 203 instructions.
const slowFilter = `!properties.s.matches("(?:a?){100}b")`

func longText(n int) string { return `{"s":"` + strings.Repeat("a", n) + `"}` }

// TestPaceInFilter: a search looks at the clock in the middle of a filter, pauses, and
// ends there, with its context or because it takes longer than it may.
func TestPaceInFilter(t *testing.T) {
	now := time.Hour
	c := create(t, open(t, Options{Now: func() time.Duration { now += stepTime; return now }}), CollectionOptions{})
	put(t, c, at("a", 1, 1, longText(4000)))
	enough := errors.New("enough")
	for name, search := range map[string]func(pace func() error) error{
		"by area": func(pace func() error) error {
			return c.Search(t.Context(), Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter, Pace: pace}, all)
		},
		"by id": func(pace func() error) error {
			return c.Search(t.Context(), Query{Filter: slowFilter, Pace: pace}, all)
		},
		"in order": func(pace func() error) error {
			return c.Search(t.Context(), Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter, Order: query.ByID, Pace: pace}, all)
		},
		"nearest": func(pace func() error) error {
			return c.Nearest(t.Context(), NearestQuery{K: 1, Filter: slowFilter, Pace: pace}, all)
		},
		"count": func(pace func() error) error {
			_, err := c.Count(t.Context(), Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter, Pace: pace})
			return err
		},
		"delete": func(pace func() error) error {
			_, err := c.DeleteWhere(t.Context(), Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter + ` && false`, Pace: pace})
			return err
		},
	} {
		paces := 0
		if err := search(func() error { paces++; return nil }); err != nil || paces < 10 {
			t.Errorf("%s: %d pauses with one feature, %v", name, paces, err)
		}
		if err := search(func() error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: told to end, %v", name, err)
		}
	}
	p, err := c.Prepare(Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SearchWith(t.Context(), p, &Buffer{Budget: 100}, all); !errors.Is(err, ErrBudget) {
		t.Errorf("with a budget: %v", err)
	}
}

func all(*Found) (bool, error) { return true, nil }

// TestFilterCost: a search does not skip a feature that it could not judge. Its error
// names the feature, the filter and the limit.
func TestFilterCost(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	put(t, c, at("a", 1, 1, longText(100)))
	put(t, c, at("long one", 1, 1, longText(5000)))
	search := func(q Query) error { return c.Search(t.Context(), q, all) }
	for name, err := range map[string]error{
		"by area": search(Query{Area: query.Box(0, 0, 2, 2), Filter: slowFilter}),
		"by id":   search(Query{Filter: slowFilter}),
		"nearest": c.Nearest(t.Context(), NearestQuery{K: 2, Filter: slowFilter}, all),
	} {
		if !errors.Is(err, filter.ErrCost) || !strings.Contains(err.Error(), `"long one"`) ||
			!strings.Contains(err.Error(), `(?:a?){100}b`) || !strings.Contains(err.Error(), "100000 units") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatchInSteps: a watcher that is paused in the middle of a filter, whenever
// possible, gives the events of one that is not, and writes continue meanwhile.
func TestWatchInSteps(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	var tree filter.Tree
	slow, err := tree.Matches(tree.Property([][]string{{"s"}}), `(?:a?){100}b`)
	if err != nil {
		t.Fatal(err)
	}
	where := tree.Program("where", tree.Or(slow, tree.Constant(true)))
	areas := map[string]Query{
		"where": {Where: where}, "both": {Area: query.Box(0, 0, 2, 2), Filter: slowFilter + " || true", Where: where},
		"slow": {Filter: slowFilter}, "box": {Area: query.Box(0, 0, 2, 2), Filter: slowFilter}, "any": {},
	}
	plain, paused := watch(t, c, 0, areas), watch(t, c, 0, areas)
	for i, s := range []string{longText(4000), `{"s":"b"}`, longText(100), longText(5000), longText(10)} {
		put(t, c, at("a", float64(i), 1, s))
	}
	if _, err := c.Delete(t.Context(), "a", kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	text := func(e Event, err error) string {
		if err != nil {
			return e.Name + err.Error()
		}
		return eventText(e)
	}
	var want, got []string
	for {
		e, ok, err := plain.Try()
		if !ok {
			break
		}
		want = append(want, text(e, err))
	}
	// The error of a pause is for the caller; each attempt gets one step further.
	enough := errors.New("enough")
	pauses, most := 0, 1
	steps := &feature.Steps{}
	steps.Pause = func() error {
		if pauses++; pauses == most {
			return enough
		}
		return nil
	}
	for stops := 0; ; {
		pauses = 0
		e, ok, err := paused.TryIn(steps)
		if errors.Is(err, enough) {
			put(t, c, at("other", 1, 1, `{}`))
			stops, most = stops+1, most+1
			if stops > 1000 {
				t.Fatal("it does not get further")
			}
			continue
		}
		if !ok {
			if stops < 20 {
				t.Errorf("paused %d times", stops)
			}
			break
		}
		most = 1
		if e.ID != "other" {
			got = append(got, text(e, err))
		}
	}
	if len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("got %d events\n%.3000q\nwant %d\n%.3000q", len(got), got, len(want), want)
	}
}
