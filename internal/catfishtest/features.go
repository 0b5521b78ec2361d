package catfishtest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Feature is a point, or each seventh several polygons, at a random place.
func Feature(r *rand.Rand, id int) model.Feature {
	x, y := r.Float64()*20-10, r.Float64()*20-10
	f := model.Feature{ID: fmt.Sprintf("place %d", id), Geometry: orb.Point{x, y}, Properties: fmt.Appendf(nil, `{"n":%d}`, id%10)}
	if id%7 == 0 {
		var all orb.MultiPolygon
		for i := range 4 {
			x := x + float64(i)*30
			all = append(all, orb.Polygon{{{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}, {x, y}}})
		}
		f.Geometry = all
	}
	return f
}

// Follow starts a goroutine that takes the events of a watch until take returns false or
// the events end. stands is closed when the watch stands; ended has the error.
func Follow(ctx context.Context, f *model.Features, q model.WatchQuery, take func(model.FeatureEvent) (more bool)) (stands chan struct{}, ended chan error) {
	stands, ended = make(chan struct{}), make(chan error, 1)
	stood, progress := false, q.Progress
	q.Progress = true
	go func() {
		var last error
		for e, err := range f.Watch(ctx, q) {
			last = err
			if !stood {
				stood = true
				close(stands)
				if err == nil {
					continue
				}
			}
			if err == nil && e.Kind == query.Progress && !progress {
				continue
			}
			if err == nil && !take(e) {
				break
			}
		}
		ended <- last
	}()
	return stands, ended
}

// Text describes an event in a line.
func Text(e model.FeatureEvent) string {
	s := fmt.Sprintf("%v %v %s %s", e.Kind, e.Why, e.Area, e.ID)
	if e.Feature.Geometry != nil {
		s += fmt.Sprint(" ", e.Feature.Geometry)
	}
	if e.Old != nil {
		s += fmt.Sprint(" was ", e.Old.Geometry, string(e.Old.Properties))
	}
	return s
}
