package api

import (
	"context"

	"github.com/catfish-index/catfish/rstar"
)

// stepNodes is how many nodes a step of a long call visits: at 0.1 to 0.3 us
// each, for 50 to 150 us. A call that needs no more is answered at once. Any
// other takes turns: between two steps it holds no lock, others go on, and it
// ends if its client has gone or the budget is exhausted.
const stepNodes = 512

// finish takes the steps of a long search until it has found everything. The
// call holds other bytes besides.
func (s *service) finish(ctx context.Context, rest *rstar.Scan, other int64) error {
	for done := false; !done; {
		err := s.turns.RunStep(ctx, sourceOf(ctx), func() { done = rest.Step(stepNodes) })
		if err == nil {
			err = hold(ctx, other+int64(rest.Held()))
		}
		if err != nil {
			return err
		}
	}
	return rest.Err()
}
