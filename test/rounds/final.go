//go:build linux

package rounds

import (
	"context"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// agreeTime is how long members may take to have all that the primary has.
const agreeTime = 10 * time.Second

// readAll reads everything by each path, and at some members, when no client writes.
func (u *users) readAll(ctx context.Context, at []Server) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTime)
	defer cancel()
	c := &caller{number: 100*u.job.Number + 99, r: rand.New(rand.NewPCG(u.job.Seed, 99))}
	for _, path := range []string{pathMessage, pathOneSided, pathTCP} {
		u.search(ctx, c, path)
		for key := range u.job.all() {
			u.get(ctx, c, path, key)
		}
	}
	all := Contents{Keys: map[int]uint64{}}
	var err error
	for key := range u.job.all() {
		var n uint64
		if n, err = u.read(ctx, pathMessage, key); err != nil {
			break
		}
		if n != 0 {
			all.Keys[key] = n
		}
	}
	switch {
	case err != nil:
	case u.job.Several:
		all.Boxes, err = u.onces(ctx)
	default:
		all.Boxes, err = u.boxes(ctx)
	}
	if err != nil {
		all.Error = err.Error()
	}
	u.out <- Said{Contents: &all}
	for _, s := range at {
		u.out <- Said{Contents: u.contents(ctx, s, all.Keys)}
	}
}

// boxes are the ids of all kept boxes.
func (u *users) boxes(ctx context.Context) ([]uint64, error) {
	kept, err := u.clients[pathWrite].Collection(keptName)
	if err != nil {
		return nil, err
	}
	items, err := kept.Search(ctx, rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 2})
	ids := make([]uint64, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	return ids, err
}

// contents is what a member has, once it has what is wanted, or in the end.
func (u *users) contents(ctx context.Context, s Server, want map[int]uint64) *Contents {
	for end := time.Now().Add(agreeTime); ; {
		is := &Contents{Node: s.Node, Keys: map[int]uint64{}}
		for key := range u.job.Keys {
			n, err := u.ask(ctx, s, key)
			if err != nil {
				is.Error = err.Error()
			}
			if n != 0 {
				is.Keys[key] = n
			}
		}
		if is.Error == "" && maps.Equal(is.Keys, want) || time.Now().After(end) {
			return is
		}
		time.Sleep(50 * time.Millisecond)
	}
}
