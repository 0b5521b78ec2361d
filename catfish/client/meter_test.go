package client

import (
	"errors"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// A server counts the requests that it gets, over every transport, whether they are
// served alone or together.
func TestRequests(t *testing.T) {
	s := startServer(t, server.Options{Meter: true, Records: []string{"records"}})
	ctx := t.Context()
	for _, p := range append(oneSided, model.TransportTCP) {
		o := Options{Transport: p, Policy: "fast"}
		if p == model.TransportTCP {
			o.Policy = "tcp"
		}
		c := dial(t, s, o)
		r, err := c.Records("records")
		if err != nil {
			t.Fatal(err)
		}
		const clients, each = 8, 50
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range each {
					if _, err := c.Search(ctx, rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
						t.Error(err)
					}
					if _, err := r.Get(ctx, []byte("none"), nil); err == nil {
						t.Error("found a record that was not put")
					}
				}
			})
		}
		wg.Wait()
		if _, err := dial(t, s, o).Collection("not/a name"); !errors.Is(err, model.ErrOption) {
			t.Error(err)
		}
		unknown, err := c.Collection("unknown")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unknown.Count(ctx, rstar.Rect{}); !errors.Is(err, model.ErrUnknownCollection) {
			t.Error(err)
		}
		got := map[string]model.RequestStats{}
		for _, r := range s.Requests() {
			if r.Transport == p {
				got[r.Kind] = r
			}
		}
		// A client gathers searches and gets into one message where it may.
		searched := got["search"].Count + got["search_many"].Count
		if got["get"].Count == 0 || searched == 0 || searched > clients*each || got["get"].Count > clients*each ||
			got["search"].Seconds <= 0 || got["search"].Failed != 0 || got["open"].Failed != 1 {
			t.Errorf("%s: %+v", p, got)
		}
	}
}
