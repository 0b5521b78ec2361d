package catfishtest

import (
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
)

// HasStats is a server.
type HasStats interface{ Stats() model.ServerStats }

// UsedOf is how much of a server's budget is used.
func UsedOf(t *testing.T, s HasStats, budget string) int64 {
	t.Helper()
	for _, b := range s.Stats().Budgets {
		if b.Name == budget {
			return b.Used
		}
	}
	t.Fatalf("no budget %q", budget)
	return 0
}

// NothingHeld waits until no connection holds anything of the budget of answers, which
// uploads in flight do.
func NothingHeld(t *testing.T, s HasStats) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		used := UsedOf(t, s, "bytes of answers")
		if used == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes are held", used)
		}
	}
}
