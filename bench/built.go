package bench

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// noteInserts is the number of inserts between two notes: about a second.
const noteInserts = 250_000

// InsertAll inserts items one by one in their order, as the paper builds its
// tree (section V-B). note receives the progress. Errors are the tree's or
// ctx's.
func InsertAll(ctx context.Context, tree *rstar.Tree, items []rstar.Item, note func(string)) error {
	for i, it := range items {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if i > 0 && i%noteInserts == 0 {
			note(fmt.Sprintf("inserted %d of %d objects", i, len(items)))
		}
		if err := tree.Insert(it.Rect, it.ID); err != nil {
			return fmt.Errorf("inserting object %d of %d: %w", i+1, len(items), err)
		}
	}
	return nil
}

// TreeText describes in words how a tree is built.
func TreeText(s rstar.Strategy, inserted bool) string {
	if inserted {
		return s.String() + " R*-tree, objects inserted one by one"
	}
	return s.String() + " R*-tree, loaded at once"
}

// BackoffOf returns what a scheme's row reports of Algorithm 1: b with its
// defaults filled in, or the zero value for schemes without it.
func BackoffOf(scheme string, b policy.Backoff) policy.Backoff {
	if s, err := policy.SchemeByName(scheme); err != nil || !s.Backoff {
		return policy.Backoff{}
	}
	return b.WithDefaults()
}

// checkBackoff checks the parameters of Algorithm 1.
func checkBackoff(b policy.Backoff) error {
	if err := b.Validate(); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	return nil
}
