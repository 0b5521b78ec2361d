package api

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Nearest collects the answer, then streams it.
func (s *featureService) Nearest(req *catfishv1.FeatureServiceNearestRequest,
	stream grpc.ServerStreamingServer[catfishv1.FeatureServiceNearestResponse],
) error {
	ctx, name := stream.Context(), req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return err
	}
	p := s.pacer(ctx)
	defer p.end()
	var a featureAnswer
	if err = checkNearestFeatures(req); err == nil {
		a.selection, err = selectionOf(req.GetSelection())
	}
	k := ranking{features: s.features, answer: &a, after: &cursor{}}
	if err == nil {
		err = k.from(c, "point", req.GetPoint())
	}
	if err != nil {
		return statusOf(name, err)
	}
	if req.GetK() == 0 {
		// As many as exist: their bytes are counted as they are found.
		var q *store.Prepared
		q, _, err = prepared(c, "query", &catfishv1.Query{Filter: req.GetFilter(), Area: &catfishv1.Area{
			Shape: &catfishv1.Area_Circle{Circle: &catfishv1.Circle{
				X: req.GetPoint().GetX(), Y: req.GetPoint().GetY(), Radius: req.GetMaxDistance(),
			}},
		}})
		if err == nil {
			q.Pace, q.Hold = p.pace, searching(ctx)
			err = k.search(ctx, c, q)
		}
	} else {
		err = c.Nearest(ctx, store.NearestQuery{
			X: req.GetPoint().GetX(), Y: req.GetPoint().GetY(), K: int(req.GetK()),
			Within: req.GetMaxDistance(), Filter: req.GetFilter(), Pace: p.pace, Hold: searching(ctx),
		}, func(f *store.Found) (bool, error) { return true, a.add(ctx, f) })
	}
	if err == nil {
		p.end()
		err = a.send(ctx, stream)
	}
	var bad *filter.Error
	if errors.As(err, &bad) {
		err = &fieldError{"filter", ReasonBadFilter, bad}
	}
	if err != nil {
		return failed(ctx, name, err)
	}
	return nil
}

func checkNearestFeatures(req *catfishv1.FeatureServiceNearestRequest) error {
	if k := req.GetK(); k > query.MaxNearest {
		return &fieldError{"k", ReasonBadField, fmt.Errorf("is %d, want at most %d", k, query.MaxNearest)}
	}
	if req.MaxDistance == nil {
		if req.GetK() == 0 {
			return &fieldError{"k", ReasonBadField, errors.New("is 0 and max_distance is missing, want one of them")}
		}
		return nil
	}
	if d := req.GetMaxDistance(); !(d > 0) || math.IsInf(d, 1) {
		return &fieldError{"max_distance", ReasonBadField, fmt.Errorf("is %v, want a finite number above 0", d)}
	}
	return nil
}
