package web

import (
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/status"
)

// TestRetryAfterFollowsTheTable: an answer has a Retry-After if another attempt may
// succeed.
func TestRetryAfterFollowsTheTable(t *testing.T) {
	for code := status.BadRequest; code <= status.RateLimited; code++ {
		is := status.OfWire(code)
		err := fmt.Errorf("op: %w", is)
		if after := retryAfter(err, problemOf(err).Status); (after > 0) != (status.RetryOf(is) == status.Safe) {
			t.Errorf("%v: after %v, by the table %d", err, after, status.RetryOf(is))
		}
	}
}
