package client

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// bigTree fills the default collection with n unit squares in rows of 1000.
func bigTree(t testing.TB, s *server.Server, n int) {
	t.Helper()
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i%1000)*2, float64(i/1000)*2), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
}

func messagesOnly(transport string) Options {
	if transport == model.TransportTCP {
		return Options{Transport: transport, Policy: "tcp"}
	}
	return Options{Transport: transport, Policy: "fast"}
}

// A write that meets a check or a load waits without delaying other requests, of its
// client or of others.
func TestWriteBesideLoad(t *testing.T) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) {
			s := startServer(t, server.Options{Workers: 1, Collections: []string{"other"}})
			bigTree(t, s, 10)
			other, err := s.Collection("other")
			if err != nil {
				t.Fatal(err)
			}
			frozen, thaw, thawed := make(chan bool), make(chan bool), make(chan error)
			go func() {
				thawed <- other.Frozen(func() {
					close(frozen)
					<-thaw
				})
			}()
			<-frozen
			o := messagesOnly(transport)
			o.Collection = "other"
			w := dial(t, s, o)
			wrote := make(chan error, 3)
			go func() {
				_, err := w.InsertMany(t.Context(), []rstar.Item{{Rect: square(0, 0), ID: 1}, {Rect: square(1, 0), ID: 2}})
				wrote <- err
			}()
			c := dial(t, s, messagesOnly(transport))
			for range 50 {
				if got, err := c.Search(t.Context(), square(0, 0)); err != nil || len(got) != 1 {
					t.Fatalf("%d objects, %v", len(got), err)
				}
				if n, err := w.Count(t.Context(), everything); err != nil || n != 0 {
					t.Fatalf("of the writing client: %d objects, %v", n, err)
				}
			}
			select {
			case err := <-wrote:
				t.Fatalf("written under the lock: %v", err)
			default:
			}
			close(thaw)
			if err := <-thawed; err != nil {
				t.Fatal(err)
			}
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
			if err := w.Insert(t.Context(), square(2, 0), 3); err != nil {
				t.Fatal(err)
			}
			if ok, err := w.Delete(t.Context(), square(1, 0), 2); err != nil || !ok {
				t.Fatal(ok, err)
			}
			if n, err := w.Count(t.Context(), everything); err != nil || n != 2 {
				t.Fatalf("%d objects, %v", n, err)
			}
		})
	}
}
