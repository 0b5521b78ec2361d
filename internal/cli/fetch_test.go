package cli

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestEveryCommandWithPolicyFetch: with policy fetch every command prints the same as without, and
// plain sockets, over which a client cannot fetch, are refused.
func TestEveryCommandWithPolicyFetch(t *testing.T) {
	csv, _ := sample(t)
	_, addr, _ := clitest.Serve(t, "--load", csv, "--records", defaultRecords, "--features", "places")
	with := func(args string, more ...string) []string {
		return append(append(strings.Fields(args), "--addr", addr), more...)
	}
	const place = `{"type":"Feature","id":"p","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"seats":20}}`
	path := clitest.File(t, "place.geojson", place)
	for _, args := range []string{
		"kv put key value", "kv get key --raw", "kv scan",
		"features put " + path + " -c places", "features get p -c places", "search -c places --bbox 0,0,3,3",
		"search --bbox -200,-90,200,90 --limit 3 --json", "count --bbox -200,-90,200,90", "nearest --point 0,0 --k 5",
	} {
		for _, transport := range []string{"soft", "shm"} {
			code, out, says := clitest.Program(t, with(args, "--transport", transport, "--policy", "fetch")...)
			if code != ExitOK {
				t.Errorf("%s over %s: %s", args, transport, says)
			}
			if strings.Contains(args, " put ") {
				continue // another revision each time
			}
			want := clitest.Succeed(t, with(args, "--transport", transport, "--policy", "fast")...)
			if want = strings.ReplaceAll(want, `"fast"`, `"fetch"`); out != want {
				t.Errorf("%s over %s: %s, want %s", args, transport, out, want)
			}
		}
		clitest.Fail(t, ExitUsage, with(args, "--transport", "tcp", "--policy", "fetch"), "transport tcp has no one-sided reads")
	}
	for _, args := range []string{"search --bbox 0,0,3,3", "kv get key", "search -c places --bbox 0,0,3,3"} {
		if out := clitest.Succeed(t, with(args+" --explain --policy fetch --transport soft")...); !strings.Contains(out, "policy fetch") || !strings.Contains(out, "  answer ") {
			t.Errorf("%s: %s", args, out)
		}
	}
}

// TestFetchMemoryCountsAsRings: the memory in which the server leaves answers counts as rings in
// status, so --memory-limit bounds it.
func TestFetchMemoryCountsAsRings(t *testing.T) {
	for policy, want := range map[string]string{"fast": "576.0 KiB", "fetch": "832.0 KiB"} {
		_, addr, _ := clitest.Serve(t) // with one client
		out := clitest.Succeed(t, "status", "--addr", addr, "--transport", "soft", "--policy", policy)
		if !strings.Contains(out, "bytes of rings: "+want+" of") {
			t.Errorf("%s: rings of %s expected: %s", policy, want, out)
		}
	}
}

func TestAnsweredBy(t *testing.T) {
	for want, x := range map[string]catfish.Explanation{
		"": {Transport: "tcp", Path: "fast"},
		"fetched by the client: reads of answers 3, of which 1 found nothing": {Transport: "soft", Path: "fast", AnswerReads: 3, AnswersMissed: 1},
		"written by the server, after 5 reads that found nothing":             {Transport: "soft", Path: "fast", AnswerReads: 5, AnswersMissed: 5},
		"written by the server": {Transport: "shm", Path: "offload", FellBack: true},
	} {
		if got := answeredBy(&x); got != want {
			t.Errorf("%+v: %q, want %q", x, got, want)
		}
	}
	if got := answeredBy(&catfish.Explanation{Transport: "shm", Path: "offload"}); got != "" {
		t.Errorf("offloaded: %q", got)
	}
}
