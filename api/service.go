package api

import (
	"context"
	"fmt"
	"sync"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// service implements catfish.v1.CatfishService; the calls are in read.go,
// write.go, load.go and stats.go.
type service struct {
	catfishv1.UnimplementedCatfishServiceServer
	backend Backend
	options options

	loads *limits.Budget // bytes of Loads in progress

	// results keeps *[]rstar.Item for Search to collect answers in.
	results sync.Pool
}

// collection finds the collection that a request names. The returned name is
// never empty.
func (s *service) collection(ctx context.Context, name string) (
	Collection, string, error,
) {
	if name == "" {
		name = DefaultCollection
	}
	if len(name) > MaxNameBytes {
		return nil, "", statusOf("", &fieldError{
			field: "collection", reason: ReasonBadField,
			err: fmt.Errorf("name has %d bytes, at most %d are allowed",
				len(name), MaxNameBytes),
		})
	}
	// The deadline may have passed while the call was queued. A write must then
	// not happen.
	if err := context.Cause(ctx); err != nil {
		return nil, "", statusOf(name, err)
	}
	c, err := s.backend.Collection(name)
	if err != nil {
		return nil, "", statusOf(name, err)
	}
	return c, name, nil
}

// keepItems is the largest result buffer kept for reuse, 160 KB: room for the
// usual answer. Larger ones are left to the garbage collector.
const keepItems = 4096

func (s *service) getItems() *[]rstar.Item {
	if p, ok := s.results.Get().(*[]rstar.Item); ok {
		return p
	}
	return new([]rstar.Item)
}

func (s *service) putItems(p *[]rstar.Item) {
	if cap(*p) <= keepItems {
		*p = (*p)[:0]
		s.results.Put(p)
	}
}
