package api

import (
	"context"
	"fmt"
	"unsafe"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

const neighborBytes = int64(unsafe.Sizeof(rstar.Neighbor{}))

// Nearest collects the answer, then streams it: see the package comment.
func (s *service) Nearest(req *catfishv1.NearestRequest,
	stream grpc.ServerStreamingServer[catfishv1.NearestResponse],
) error {
	ctx := stream.Context()
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return err
	}
	if err := checkNearest(req); err != nil {
		return statusOf(name, err)
	}
	b, several, err := s.groups(name)
	if err != nil {
		return err
	}
	var near [][]rstar.Neighbor
	if several {
		near, err = s.nearestOfGroups(ctx, b, req)
	} else {
		near, err = s.collectNearest(ctx, c, req)
	}
	if err != nil {
		return statusOf(name, err)
	}
	for i, batch := range near {
		err := sendBatch(ctx, stream, &catfishv1.NearestResponse{
			Neighbors: neighborsToProto(batch),
		})
		near[i] = nil
		if left := len(near) - 1 - i; err == nil && left > 0 {
			err = hold(ctx, int64(left)*BatchItems*neighborBytes)
		}
		if err != nil {
			return statusOf(name, err)
		}
	}
	return nil
}

func checkNearest(req *catfishv1.NearestRequest) error {
	if err := checkFinite("x", req.GetX()); err != nil {
		return err
	}
	if err := checkFinite("y", req.GetY()); err != nil {
		return err
	}
	if k := req.GetK(); k > MaxNearest {
		return &fieldError{"k", ReasonBadField,
			fmt.Errorf("is %d, want at most %d", k, MaxNearest)}
	}
	if req.MaxDistance == nil {
		if req.GetK() == 0 {
			return &fieldError{"k", ReasonBadField, fmt.Errorf(
				"is 0 and max_distance is missing, want one of them")}
		}
		return nil
	}
	d := req.GetMaxDistance()
	if err := checkFinite("max_distance", d); err != nil {
		return err
	}
	if d < 0 {
		return &fieldError{"max_distance", ReasonBadField,
			fmt.Errorf("is %v, want 0 or more", d)}
	}
	return nil
}

// collectNearest returns the answer in batches. All but the first step use
// scheduling slots.
func (s *service) collectNearest(ctx context.Context, c Collection,
	req *catfishv1.NearestRequest,
) (near [][]rstar.Neighbor, err error) {
	limit := s.options.maxResults + 1
	if k := req.GetK(); k != 0 {
		limit = int(min(uint64(k), uint64(limit)))
	}
	b := c.Browse(req.GetX(), req.GetY())
	defer b.Close()
	total, done := 0, false
	for first := true; !done && total < limit; first = false {
		if total == len(near)*BatchItems {
			near = append(near, make([]rstar.Neighbor, 0, min(BatchItems, limit-total)))
		}
		last := &near[len(near)-1]
		had := len(*last)
		step := func() { *last, done = b.Next(*last, cap(*last)-had, stepNodes) }
		if first {
			step()
		} else if err := s.backend.Host.RunStep(ctx, sourceOf(ctx), step); err != nil {
			return nil, err
		}
		if n := within(*last, req.MaxDistance); n < len(*last) {
			*last, done = (*last)[:n], true
		}
		total += len(*last) - had
		if first && (done || total == limit) {
			break // callBytes has room for one batch
		}
		bytes := int64(len(near))*BatchItems*neighborBytes + int64(b.Held())
		if err := hold(ctx, bytes); err != nil {
			return nil, err
		}
	}
	if err := b.Err(); err != nil {
		return nil, err
	}
	if total > s.options.maxResults {
		return nil, s.tooManyResults()
	}
	if n := len(near); n > 0 && len(near[n-1]) == 0 {
		near = near[:n-1]
	}
	return near, nil
}

// within returns how many of near, in ascending distance, are within most.
func within(near []rstar.Neighbor, most *float64) int {
	n := len(near)
	for most != nil && n > 0 && near[n-1].Dist > *most {
		n--
	}
	return n
}
