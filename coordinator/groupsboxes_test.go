package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

func boxAt(x, y, size float64) *catfishv1.Rect {
	return &catfishv1.Rect{MinX: x, MinY: y, MaxX: x + size, MaxY: y + size}
}

// idsOf are the ids of a stream of boxes, sorted.
func idsOf[T interface{ GetItems() []*catfishv1.Item }](s interface{ Recv() (T, error) }, err error) (ids []uint64, _ error) {
	for err == nil {
		var m T
		if m, err = s.Recv(); err == nil {
			for _, it := range m.GetItems() {
				ids = append(ids, it.Id)
			}
		}
	}
	slices.Sort(ids)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return ids, err
}

// Each member of two groups answers about boxes over gRPC as one server would that has all.
func TestGroupsBoxesOverGRPC(t *testing.T) {
	t.Parallel()
	members, alone, registry := groupsAndAloneAt(t, "n2")
	var seen placement.Survey
	var items []*catfishv1.Item
	for i := range 4000 {
		it := &catfishv1.Item{Id: uint64(i), Rect: boxAt(float64(i%80), float64(i/80), 0.4+float64(i%7)/5)}
		items = append(items, it)
		seen.Add(catfishtest.Square(it.Rect.MinX, it.Rect.MinY))
	}
	largest := placement.Largest(3, 3)
	if _, err := groupmap.PlaceBoxes(t.Context(), registry, "boxes", func(m *placement.Map) (*placement.Map, error) {
		return m.AddBoxes("boxes", seen.Extent, seen.Positions(seen.Extent), &largest)
	}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []*member{members["b/n1"], alone} {
		c, err := catfish.Dial(t.Context(), m.addr, catfish.Options{Logger: catfishtest.Quiet()})
		if err != nil {
			t.Fatal(err)
		}
		catfishtest.Eventually(t, "the members have read the map", func() bool {
			return c.CreateBoxes(t.Context(), "boxes", model.BoxesOptions{Keep: true}) == nil
		})
		_ = c.Close()
	}
	want, ctx := dialGRPC(t, alone), t.Context()
	for _, c := range []grpcClient{dialGRPC(t, members["a/n1"]), want} {
		up, err := c.boxes.Load(ctx)
		for i := 0; err == nil && i < len(items); i += 1000 {
			err = up.Send(&catfishv1.LoadRequest{Collection: "boxes", Items: items[i : i+1000]})
		}
		if err != nil {
			t.Fatal(err)
		}
		if r, err := up.CloseAndRecv(); err != nil || r.Loaded != uint64(len(items)) {
			t.Fatal(r, err)
		}
	}
	for _, g := range []string{"a/n1", "b/n1"} {
		if c, err := members[g].daemon.Server().Kept("boxes"); err != nil || c.Tree().Len() < 1000 || c.Tree().Len() > 3000 {
			t.Fatalf("%s has %d boxes, %v", g, c.Tree().Len(), err)
		}
	}
	n := 0
	for name, m := range members {
		c := dialGRPC(t, m)
		both := func(what string, call func(c grpcClient) (string, error)) {
			t.Helper()
			got, err := call(c)
			has, e := call(want)
			if got != has || status.Code(err) != status.Code(e) {
				t.Errorf("%s: %s: %.200s %v, want %.200s %v", name, what, got, err, has, e)
			}
		}
		reads := func() {
			t.Helper()
			for _, q := range []*catfishv1.Rect{boxAt(-1, -1, 100), boxAt(30, 20, 9), boxAt(79, 49, 0), boxAt(900, 900, 1)} {
				both("search", func(c grpcClient) (string, error) {
					ids, err := idsOf(c.boxes.Search(ctx, &catfishv1.SearchRequest{Collection: "boxes", Query: q}))
					return fmt.Sprint(ids), err
				})
				both("limit", func(c grpcClient) (string, error) {
					ids, err := idsOf(c.boxes.Search(ctx, &catfishv1.SearchRequest{Collection: "boxes", Query: q, Limit: 7}))
					return fmt.Sprint(len(ids)), err
				})
				both("count", func(c grpcClient) (string, error) {
					r, err := c.boxes.Count(ctx, &catfishv1.CountRequest{Collection: "boxes", Query: q})
					return fmt.Sprint(r.GetCount()), err
				})
			}
			both("many searches", func(c grpcClient) (string, error) {
				req := &catfishv1.SearchManyRequest{Collection: "boxes"}
				for i := range 60 {
					req.Queries = append(req.Queries, boxAt(float64(i), float64(i/2), 2))
				}
				s, err := c.boxes.SearchMany(ctx, req)
				var found []string
				last := uint32(0)
				for err == nil {
					var m *catfishv1.SearchManyResponse
					m, err = s.Recv()
					for i, q := range m.GetQueries() {
						if q < last {
							t.Errorf("%s: the answer to search %d comes after that to %d", name, q, last)
						}
						last = q
						found = append(found, fmt.Sprintf("%d: %d", q, m.Items[i].Id))
					}
				}
				slices.Sort(found)
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return fmt.Sprint(found), err
			})
			far := 3.5
			for _, req := range []*catfishv1.NearestRequest{{X: 40.2, Y: 25.3, K: 300}, {X: -5, Y: 70, K: 1}, {X: 20, Y: 20, MaxDistance: &far}, {X: 1, Y: 1, K: 5000}} {
				both("nearest", func(c grpcClient) (string, error) {
					req.Collection = "boxes"
					s, err := c.boxes.Nearest(ctx, req)
					var found []*catfishv1.Neighbor
					for err == nil {
						var m *catfishv1.NearestResponse
						m, err = s.Recv()
						found = append(found, m.GetNeighbors()...)
					}
					if !slices.IsSortedFunc(found, func(a, b *catfishv1.Neighbor) int { return cmp.Compare(a.Distance, b.Distance) }) {
						t.Errorf("%s: nearest come in no order", name)
					}
					var all []string
					for _, f := range found {
						all = append(all, fmt.Sprintf("%.9f", f.Distance)) // Which of those at the last distance come is not defined.
					}
					if errors.Is(err, io.EOF) {
						err = nil
					}
					return fmt.Sprint(all), err
				})
			}
		}
		reads()
		for range 8 {
			n++
			it := &catfishv1.Item{Id: uint64(10_000 + n), Rect: boxAt(float64(5*n%80), 3, 1)}
			to := boxAt(float64((5*n+40)%80), 46, 1)
			both("insert", func(c grpcClient) (string, error) {
				_, err := c.boxes.Insert(ctx, &catfishv1.InsertRequest{Collection: "boxes", Item: it})
				return "", err
			})
			for range 2 {
				both("update", func(c grpcClient) (string, error) {
					r, err := c.boxes.Update(ctx, &catfishv1.UpdateRequest{Collection: "boxes", Id: it.Id, OldRect: it.Rect, NewRect: to})
					return fmt.Sprint(r.GetFound()), err
				})
			}
			if n%2 == 0 {
				for range 2 {
					both("delete", func(c grpcClient) (string, error) {
						r, err := c.boxes.Delete(ctx, &catfishv1.DeleteRequest{Collection: "boxes", Item: &catfishv1.Item{Id: it.Id, Rect: to}})
						return fmt.Sprint(r.GetFound()), err
					})
				}
			}
		}
		reads()
		both("no collection", func(c grpcClient) (string, error) {
			_, err := c.boxes.Count(ctx, &catfishv1.CountRequest{Collection: "none", Query: boxAt(0, 0, 1)})
			return "", err
		})
		if _, err := c.boxes.Insert(ctx, &catfishv1.InsertRequest{Collection: "boxes", Item: &catfishv1.Item{Rect: boxAt(1, 1, 4)}}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: a box that is too large: %v", name, err)
		}
		if _, err := c.boxes.Count(ctx, &catfishv1.CountRequest{Query: boxAt(0, 0, 1)}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: boxes that are not placed: %v", name, err)
		}
	}
}
