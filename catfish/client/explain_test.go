package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

func TestExplain(t *testing.T) {
	s, tr := cachedServer(t)
	q := rstar.Rect{MinX: 0.4, MinY: 0.4, MaxX: 0.41, MaxY: 0.41}
	for _, p := range paths() {
		c := dial(t, s, p.options())
		for try := range 2 {
			before := c.Counters()
			items, x, err := c.Explain(t.Context(), q, 0)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			after := c.Counters()
			if want := localSearch(tr, q); !slices.Equal(sorted(items), sorted(want)) || x.Results != len(want) {
				t.Errorf("%s: found %d, explained %d, want %d", p.name, len(items), x.Results, len(want))
			}
			// Algorithm 1 offloads if the machine is busy.
			offloads := strings.HasPrefix(p.policy, "offload") || strings.HasPrefix(p.policy, "paper") && x.Path == "offload"
			if (x.Path == "offload") != offloads || x.Transport != p.transport || x.Policy != p.policy || x.Why == "" {
				t.Errorf("%s: %+v", p.name, x)
			}
			if x.RoundTrips != after.RoundTrips-before.RoundTrips || x.Reads != after.Reads-before.Reads ||
				x.CachedNodes != after.CachedNodes-before.CachedNodes ||
				x.Bytes != after.BytesRead+after.BytesSent+after.BytesReceived-
					before.BytesRead-before.BytesSent-before.BytesReceived {
				t.Errorf("%s: explained %+v, counted from %+v to %+v", p.name, x, before, after)
			}
			if x.AnswerReads != after.AnswerReads-before.AnswerReads || x.AnswersMissed != after.AnswersMissed-before.AnswersMissed {
				t.Errorf("%s: explained %+v, counted from %+v to %+v", p.name, x, before, after)
			}
			// If a client's reads find no answer for long, the server writes its answers.
			if p.policy == "fetch" && try == 1 && after.AnswerChanges == 0 && x.AnswerReads <= x.AnswersMissed {
				t.Errorf("%s: no answer was fetched: %+v", p.name, x)
			}
			if (x.Reads > 0) != offloads || x.RoundTrips == 0 {
				t.Errorf("%s: %d reads, %d round trips", p.name, x.Reads, x.RoundTrips)
			}
			if x.AnswerReads != after.AnswerReads-before.AnswerReads || x.AnswersMissed > x.AnswerReads || x.AnswerReads > 0 && p.policy != "fetch" {
				t.Errorf("%s: %d reads of answers, %d in vain, counted from %+v to %+v", p.name, x.AnswerReads, x.AnswersMissed, before, after)
			}
			cached := p.policy == "offload-cached"
			if (x.Estimate != nil) != cached {
				t.Errorf("%s: the estimate is %+v", p.name, x.Estimate)
			}
			if cached && try == 1 && (x.RoundTrips != 1 || x.Estimate.Missing != 0 ||
				x.CachedNodes != uint64(x.Estimate.Cached) || x.Bytes < uint64(x.Estimate.Bytes)) {
				t.Errorf("%s: %+v, estimated %+v", p.name, x, x.Estimate)
			}
			sum := time.Duration(0)
			for _, st := range x.Steps {
				if sum += st.Took; st.Name == "" || st.Took < 0 {
					t.Errorf("%s: step %+v", p.name, st)
				}
			}
			if sum > x.Took || len(x.Steps) < 3 {
				t.Errorf("%s: took %v, steps %v", p.name, x.Took, x.Steps)
			}
		}
	}
	c := dial(t, s, Options{})
	if _, _, err := c.Explain(t.Context(), rstar.Rect{MinX: 2, MaxX: 1}, 0); err == nil {
		t.Error("explained a rectangle that is none")
	}
}

func localSearch(tr *rstar.Tree, q rstar.Rect) (items []rstar.Item) {
	tr.Search(q, func(r rstar.Rect, id uint64) bool {
		items = append(items, rstar.Item{Rect: r, ID: id})
		return true
	})
	return items
}
