package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A watch continues from the Position of any event of another one, and gives exactly the events
// after it; positions that are none, foreign or of another epoch are refused.
func TestWatchSeveralGroupsFromPosition(t *testing.T) {
	k := startCluster(t, "a", "b", "c")
	c := k.dial(t, k.addr(0), Options{})
	ctx := t.Context()
	if err := c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	f := features(t, c)
	const ids, times = 20, 3
	put := func(i int) {
		place := model.Feature{ID: fmt.Sprint(i % ids), Geometry: orb.Point{1, 1}, Properties: fmt.Appendf(nil, `{"n":%d}`, i)}
		if _, _, err := f.Put(ctx, place, model.Condition{}); err != nil {
			t.Error(err)
		}
	}
	// watch takes n events from a position, whose order and positions it returns. The first
	// position is of the first Progress.
	watch := func(c *Client, from string, n int) (order, at []string, err error) {
		for e, err := range features(t, c).Watch(ctx, model.WatchQuery{Position: from, Progress: true}) {
			switch {
			case err != nil:
				return order, at, err
			case e.Kind == query.Progress && len(at) > 0:
				continue
			case e.Kind == query.Progress:
				at = append(at, e.Position)
				if from == "" {
					go func() {
						for i := range ids * times {
							put(i)
						}
					}()
				}
				continue
			}
			order, at = append(order, string(e.Feature.Properties)), append(at, e.Position)
			if len(order) == n {
				break
			}
		}
		return order, at, nil
	}
	all, at, err := watch(c, "", ids*times)
	if err != nil || len(all) != ids*times {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, from := range []int{0, 1, len(all) / 2, len(all) - 1} {
		other := k.dial(t, k.addr(2), Options{}) // another process
		got, _, err := watch(other, at[from], len(all)-from)
		want := slices.Sorted(slices.Values(all[from:])) // Groups have another order each time.
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("from position %d: %d events, want %d, %v", from, len(got), len(want), err)
		}
	}
	refused := func(what string, position string, want error) {
		t.Helper()
		if _, _, err := watch(c, position, 1); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	p, err := placement.ParseWatchPosition(at[1])
	if err != nil {
		t.Fatal(err)
	}
	refused("no position", "4711", model.ErrQuery)
	refused("a bit of it is another", "BQ"+at[1][2:], model.ErrQuery)
	refused("part of it", at[1][:len(at[1])-4], model.ErrQuery)
	refused("too long", strings.Repeat(at[1], 100), model.ErrQuery)
	p.Groups[1].History++
	refused("another store's", p.String(), model.ErrLagged)
	p.Groups = p.Groups[:2]
	refused("of other groups", p.String(), model.ErrLagged)
	one := startFeatures(t, server.Options{})
	for _, err := range dialFeatures(t, one, Options{}).Watch(ctx, model.WatchQuery{Position: at[1]}) {
		if !errors.Is(err, model.ErrLagged) {
			t.Errorf("one server: %v", err)
		}
	}
	k.slots = slices.Clone(k.slots)
	k.slots[0] = 1 - k.slots[0]
	k.now.Version++
	k.now.Epoch = k.now.Version
	k.publish(t, k.groups...)
	refused("before slots have moved", at[1], model.ErrLagged)
}
