package api

import (
	"context"

	"github.com/catfish-index/catfish/rstar"
)

// stepNodes is how many nodes a step of a long call visits: at 0.1 to 0.3 us
// each, for 50 to 150 us. A call that needs no more is answered at once. Any
// other uses scheduling slots: between two steps it holds no lock, other calls
// run, and it ends if its client has disconnected or the budget is exhausted.
const stepNodes = 512

// finish runs the steps of a long search until it has found everything. The
// call holds other bytes in addition.
func (s *service) finish(ctx context.Context, rest *rstar.Scan, other int64) error {
	for done := false; !done; {
		err := s.backend.Host.RunStep(ctx, sourceOf(ctx), func() { done = rest.Step(stepNodes) })
		if err == nil {
			err = hold(ctx, other+int64(rest.Held()))
		}
		if err != nil {
			return err
		}
	}
	return rest.Err()
}
