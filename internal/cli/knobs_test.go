package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/rstar"
)

// TestServeStrategy: the strategy decides how often the served tree carries
// entries between nodes. With either the tree is sound, and clients accept the
// parameters of Algorithm 1.
func TestServeStrategy(t *testing.T) {
	moves := map[uint64]bool{}
	for _, name := range []string{"original", "revised"} {
		_, addr, _ := clitest.Serve(t, "--strategy", name)
		clitest.Succeed(t, "load", "--server", addr, "--file", "uniform", "--objects", "250") // One message: in order.
		clitest.Succeed(t, "check", "--server", addr)
		var st struct {
			Collections map[string]rstar.Stats `json:"collections"`
		}
		if err := json.Unmarshal([]byte(clitest.Succeed(t, "status", "--server", addr, "--json")), &st); err != nil {
			t.Fatal(err)
		}
		c := st.Collections["default"]
		if c.Len != 250 || c.Height != 2 {
			t.Errorf("%+v", st)
		}
		moves[c.Moves] = true
		out := clitest.Succeed(t, "search", "--server", addr, "--policy", "paper", "--threshold", "0.8", "--backoff-n", "4",
			"--predictor", "linear", "--bbox", "0,0,1,1", "--explain")
		if !strings.Contains(out, "the threshold is 80 %") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
	if len(moves) != 2 {
		t.Errorf("both strategies make as many moves: %v", moves)
	}
}
