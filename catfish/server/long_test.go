package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/rstar"
)

// bigTree fills the default collection with n unit squares in rows of 1000.
func bigTree(t testing.TB, s *Server, n int) {
	t.Helper()
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i%1000)*2, float64(i/1000)*2), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
}

func messagesOnly(transport string) client.Options {
	if transport == model.TransportTCP {
		return client.Options{Transport: transport, Policy: "tcp"}
	}
	return client.Options{Transport: transport, Policy: "fast"}
}

// overMessages runs a test over each transport, by messages only.
func overMessages(t *testing.T, opts Options, n int, run func(t *testing.T, s *Server, c *client.Client)) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			s := startServer(t, opts)
			bigTree(t, s, n)
			c := dial(t, s, messagesOnly(transport))
			run(t, s, c)
			eventually(t, "no answer is held", func() bool { return s.budgets.answers.Use().Used == 0 })
		})
	}
}

// Long requests get the same answers as short ones.
func TestLongRequests(t *testing.T) {
	const n = 100_000
	overMessages(t, Options{}, n, func(t *testing.T, s *Server, c *client.Client) {
		ctx := context.Background()
		got, err := c.Search(ctx, everything)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != n {
			t.Fatalf("%d objects, want %d", len(got), n)
		}
		slices.SortFunc(got, func(a, b rstar.Item) int { return int(a.ID) - int(b.ID) })
		for i, it := range got {
			if it.ID != uint64(i) || it.Rect != square(float64(i%1000)*2, float64(i/1000)*2) {
				t.Fatalf("object %d is %v", i, it)
			}
		}
		if k, err := c.Count(ctx, everything); err != nil || k != n {
			t.Fatalf("counted %d, %v", k, err)
		}
		near, err := c.Nearest(ctx, 500, 50, 20_000)
		if err != nil || len(near) != 20_000 {
			t.Fatalf("%d neighbours, %v", len(near), err)
		}
		want := slices.Collect(func(yield func(rstar.Item) bool) {
			left := len(near)
			tree(t, s).Nearest(500, 50, func(r rstar.Rect, id uint64, _ float64) bool {
				left--
				return yield(rstar.Item{Rect: r, ID: id}) && left > 0
			})
		})
		for i := range want {
			if a, b := near[i].Rect.Distance(500, 50), want[i].Rect.Distance(500, 50); a != b {
				t.Fatalf("neighbour %d is %v away, want %v", i, a, b)
			}
		}
		if err := c.Check(ctx); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(ctx); !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
			t.Fatalf("a second check at once: %v", err)
		}
	})
}

// A batch in which some searches are long, the first one or another.
func TestLongSearchMany(t *testing.T) {
	const n = 100_000
	overMessages(t, Options{}, n, func(t *testing.T, s *Server, c *client.Client) {
		qs := []rstar.Rect{everything, square(0, 0), everything, square(2, 2), square(4, 4)}
		found := make([]int, len(qs))
		err := c.SearchMany(context.Background(), qs, func(i int, items []rstar.Item) error {
			found[i] = len(items)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{n, 1, n, 1, 1}; !slices.Equal(found, want) {
			t.Fatalf("found %v, want %v", found, want)
		}
	})
}

// Searches of one worker at the same time, long ones among them, so that its
// batches contain both.
func TestLongSearchesTogether(t *testing.T) {
	const n = 50_000
	overMessages(t, Options{Workers: 1}, n, func(t *testing.T, s *Server, c *client.Client) {
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				for k := range 20 / catfishtest.RaceFactor {
					q, want := square(float64(i)*2, float64(k)*2), 1
					if (i+k)%10 == 0 {
						q, want = everything, n
					}
					got, err := c.Search(context.Background(), q)
					if err != nil || len(got) != want {
						t.Errorf("%v: %d objects, want %d: %v", q, len(got), want, err)
					}
				}
			})
		}
		group.Wait()
	})
}

func TestAnswerLimits(t *testing.T) {
	overMessages(t, Options{MaxResults: 1000}, 10_000, func(t *testing.T, s *Server, c *client.Client) {
		ctx := context.Background()
		_, err := c.Search(ctx, everything)
		if !errors.Is(err, model.ErrTooLarge) || !strings.Contains(err.Error(), "1000") {
			t.Fatalf("10000 objects: %v", err)
		}
		some := rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 1} // one row
		if got, err := c.Search(ctx, some); err != nil || len(got) != 1000 {
			t.Fatalf("1000 objects: %d, %v", len(got), err)
		}
		if got, err := c.SearchAppend(ctx, nil, everything, 900); err != nil || len(got) != 900 {
			t.Fatalf("limit 900: %d, %v", len(got), err)
		}
		if _, err := c.Nearest(ctx, 0, 0, 1001); !errors.Is(err, model.ErrTooLarge) {
			t.Fatalf("1001 neighbours: %v", err)
		}
		if k, err := c.Count(ctx, everything); err != nil || k != 10_000 {
			t.Fatalf("a count is never too large: %d, %v", k, err)
		}
	})
}

// A request that a budget refuses fails alone: its connection and the connection's other
// requests continue.
func TestAnswersOverBudget(t *testing.T) {
	overMessages(t, Options{}, 100_000, func(t *testing.T, s *Server, c *client.Client) {
		ctx := context.Background()
		b := s.budgets.answers
		source := "127.0.0.1"
		if c.Info().Transport == model.TransportSHM {
			source = fmt.Sprintf("pid %d", os.Getpid())
		}
		// Another connection of this source uses nearly all of its share.
		other := b.Open(source, func(err error) { t.Error(err) })
		if err := other.Take(b.Use().Share - 1<<20); err != nil {
			t.Fatal(err)
		}
		_, err := c.Search(ctx, everything)
		if !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
			t.Fatalf("4 MB with 1 MB left: %v", err)
		}
		if got, err := c.Search(ctx, square(0, 0)); err != nil || len(got) != 1 {
			t.Fatalf("%d objects, %v", len(got), err)
		}
		other.Close()
		if got, err := c.Search(ctx, everything); err != nil || len(got) != 100_000 {
			t.Fatalf("with room: %d objects, %v", len(got), err)
		}
	})
}

// A connection that ends while its answer is made gives all its bytes back.
func TestLongRequestOfEndedConnection(t *testing.T) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			s := startServer(t, Options{})
			bigTree(t, s, 200_000)
			for range 5 {
				c := dial(t, s, messagesOnly(transport))
				ctx, cancel := context.WithCancel(context.Background())
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() { _, _ = c.Search(ctx, everything) })
				}
				cancel()
				c.Close()
				group.Wait()
			}
			eventually(t, "all is given back", func() bool {
				u := s.budgets.answers.Use()
				return u.Used == 0 && u.Sources == 0
			})
		})
	}
}
