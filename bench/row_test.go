package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// goldenRow is a row built from fixed samples: two runs, one process.
func goldenRow() Row {
	run := func(ops int, util float64) *outcome {
		s := &Sample{Elapsed: 2 * time.Second, Latency: newTally().latency}
		for i := range ops {
			s.Latency[Search].Record(time.Duration(i+1) * time.Microsecond)
		}
		n := uint64(ops)
		s.Results = 4 * n
		s.Counters = Counters{
			Fast: n / 4, Offloaded: 3 * n / 4, Reads: 2 * n, RoundTrips: n,
			Bytes: 500 * n, Restarts: n / 10, TornReads: 3, Cached: 3 * n, Repairs: n / 5,
			AnswerReads: n / 2, AnswersMissed: n / 5, AnswerChanges: 1,
		}
		return &outcome{
			server:  ServerReady{Objects: 1000, NodeBytes: 1984},
			clients: []ClientReady{{Info: Info{Transport: "shm", Policy: "paper"}}},
			samples: []*Sample{s}, Span: harness.Span{Util: util},
		}
	}
	cfg := Config{
		Objects: 1000, Duration: 2 * time.Second, Repeat: 2, Commit: "0123abc",
		ServerCPUs: []int{0}, ClientCPUs: []int{1},
	}.withDefaults()
	return newRow(cfg, "paper", []*outcome{run(1000, 0.5), run(2000, 0.75)})
}

// golden compares with a file under testdata. To rewrite it on purpose,
// copy what the failure prints.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (%v): got\n%s\nwant\n%s", file, err, got, want)
	}
}

func TestRowJSON(t *testing.T) {
	var line, indented bytes.Buffer
	if err := json.NewEncoder(&line).Encode(goldenRow()); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(line.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%q is not one line", line.String())
	}
	if err := json.Indent(&indented, line.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "row.json", indented.Bytes())
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTable(&b, []Row{goldenRow()}); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", b.Bytes())
}

// TestFewResults: a mean that rounds to 0.00 is explained, in mixes that
// search.
func TestFewResults(t *testing.T) {
	for _, c := range []struct {
		mix     string
		results float64
		says    bool
	}{
		{"search=100", 0.004, true}, {"search=90,insert=10", 0, true},
		{"search=100", 0.5, false}, {"insert=100", 0, false},
	} {
		r := goldenRow()
		r.Mix, r.Results = c.mix, c.results
		var b bytes.Buffer
		if err := WriteTable(&b, []Row{r}); err != nil || strings.Contains(b.String(), "most searches find nothing") != c.says {
			t.Errorf("%+v: %v, %s", c, err, b.String())
		}
	}
	if got := FewResults(0.00412); !strings.Contains(got, "0.0041 objects") || !strings.Contains(got, "1e-2") {
		t.Error(got)
	}
}
