package client

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestNearestWithin: by every path, the objects within a distance are the first of
// the nearest objects; the bound itself is within.
func TestNearestWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	items := make([]rstar.Item, 3000)
	for i := range items {
		items[i] = rstar.Item{Rect: square(1000*r.Float64(), 1000*r.Float64()), ID: uint64(i)}
	}
	s := startServer(t, server.Options{})
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			c := dial(t, s, p.options())
			for range 30 {
				x, y, k := 1000*r.Float64(), 1000*r.Float64(), 1+r.IntN(60)
				all, err := c.Nearest(t.Context(), x, y, k)
				if err != nil || len(all) != k {
					t.Fatal(len(all), err)
				}
				for _, within := range []float64{0, all[k/2].Dist, all[k-1].Dist, 200 * r.Float64(), math.Inf(1)} {
					want := 0
					for want < k && all[want].Dist <= within {
						want++
					}
					got, err := c.NearestWithin(t.Context(), x, y, k, within)
					if err != nil || len(got) != want {
						t.Fatalf("within %v of (%v, %v): %d of %d objects, want %d: %v", within, x, y, len(got), k, want, err)
					}
					for i := range got {
						if got[i].Dist != all[i].Dist {
							t.Fatalf("object %d is at %v, want %v", i, got[i].Dist, all[i].Dist)
						}
					}
				}
			}
		})
	}
}

// TestNearestLimits: the client refuses bad numbers, and so does the server
// if a request does not come from a Client.
func TestNearestLimits(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, tr := range []string{model.TransportTCP, model.TransportSoft} {
		c := dial(t, s, Options{Transport: tr})
		if _, err := c.Nearest(t.Context(), 0, 0, wire.MaxNearest+1); !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), "65536") {
			t.Errorf("k above the limit: %v", err)
		}
		if _, err := c.Nearest(t.Context(), 0, 0, wire.MaxNearest); err != nil {
			t.Errorf("k at the limit: %v", err)
		}
		for _, d := range []float64{-1, math.NaN(), math.Inf(-1)} {
			if _, err := c.NearestWithin(t.Context(), 0, 0, 1, d); !errors.Is(err, model.ErrOption) {
				t.Errorf("within %v: %v", d, err)
			}
		}
		ses := c.conn.sessions.latest()
		req := append(wire.AppendHead(nil, 0, wire.MaxNearest+1), make([]byte, 16)...)
		if _, err := ses.call(t.Context(), wire.KindNearest, req, nil); !errors.Is(err, model.ErrTooLarge) || !strings.Contains(err.Error(), "65536") {
			t.Errorf("the server takes k above the limit: %v", err)
		}
		// The server sends no objects beyond the bound.
		for i := range 3 {
			if err := c.Insert(t.Context(), square(10*float64(i), 0), 1); err != nil {
				t.Fatal(err)
			}
		}
		req = append(wire.AppendHead(nil, 0, 100), make([]byte, 16)...)
		req = binary.LittleEndian.AppendUint64(req, math.Float64bits(10))
		if b, err := ses.call(t.Context(), wire.KindWithin, req, nil); err != nil || len(b)%(2*wire.ItemBytes) != 0 {
			t.Errorf("within 10: %d bytes, %v", len(b), err)
		}
		req = append(wire.AppendHead(nil, 0, 1), make([]byte, 23)...)
		if _, err := ses.call(t.Context(), wire.KindWithin, append(req, 0xc0), nil); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("the server takes a negative distance: %v", err)
		}
	}
}
