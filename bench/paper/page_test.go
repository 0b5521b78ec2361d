package paper

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/policy"
)

var table = flag.Bool("table", false, "simulate all of docs/research/paper-simulated.md's table, for minutes")

const (
	simulatedPage = "../../docs/research/paper-simulated.md"
	tableBegins   = "<!-- bench sim --table -->\n"
	tableEnds     = "<!-- bench sim --table: end -->\n"
)

// simulatedTable is the output of 'catfish bench sim --table' in the page.
func simulatedTable(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(simulatedPage)
	if err != nil {
		t.Fatal(err)
	}
	_, after, begins := strings.Cut(string(b), tableBegins)
	text, _, ends := strings.Cut(after, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s lacks %q or %q", simulatedPage, tableBegins, tableEnds)
	}
	return text
}

// The page's table is the program's. Without -table the values that take
// minutes to simulate are not compared: then the rows must be those of all
// numbers and claims, with their marks, and figure 9 is simulated.
func TestSimulatedPage(t *testing.T) {
	kept := simulatedTable(t)
	cl, err := sim.Open("paper")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictMicro(cl, micro.Sizes())
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if *table {
		base := sim.Config{Cluster: cl, Duration: 200 * time.Millisecond, Seed: 1, Backoff: policy.Backoff{}}
		s, err := Predict(t.Context(), base, new(sim.Cache), 2_000_000, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if err := WritePredictions(&made, cl, s); err != nil {
			t.Fatal(err)
		}
		made.WriteString("\n")
	}
	if err := WriteMicro(&made, cl, rows); err != nil {
		t.Fatal(err)
	}
	if *table && made.String() != kept || !strings.HasSuffix(kept, made.String()) {
		t.Errorf("%s is not what the program makes: make paper-docs\n%s", simulatedPage, made.String())
	}
	for _, p := range predictions() {
		checkRow(t, kept, fmt.Sprintf("| %s | %s | %.2f | ", p.Figure, p.What(), p.Value), p.Fitted, p.Seen)
	}
	for _, n := range Stronger() {
		checkRow(t, kept, fmt.Sprintf("| %s | %s | %.2f | ", n.Figure, n.What(), n.Value), false, false)
	}
	for _, c := range Claims {
		checkRow(t, kept, fmt.Sprintf("| %s | %s | ", c.Figure, c.Text), fittedClaims[c.Name], seenClaims[c.Name])
	}
}

// checkRow requires a row with this begin and its mark.
func checkRow(t *testing.T, text, begins string, fitted, seen bool) {
	t.Helper()
	_, after, found := strings.Cut(text, "\n"+begins)
	row, _, _ := strings.Cut(after, "\n")
	if !found || strings.HasSuffix(row, "fitted |") != fitted || strings.HasSuffix(row, "seen |") != seen {
		t.Errorf("%s, row %q: found %v, its end %q; fitted %v, seen %v", simulatedPage, begins, found, row, fitted, seen)
	}
}

// cellsOf are those of a line of a table in Markdown, trimmed.
func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "| ") {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// The simulated column of docs/research/paper.md is that of docs/research/paper-simulated.md.
func TestPagesAgree(t *testing.T) {
	simulated, preset := map[string]string{}, map[string]string{} // by figure and quantity
	for line := range strings.Lines(simulatedTable(t)) {
		cells := cellsOf(strings.TrimSpace(line))
		switch {
		case len(cells) == 7: // figure, what, paper, as the paper, ours, ratio, mark
			simulated[cells[0]+" "+cells[1]], preset[cells[0]+" "+cells[1]] = cells[4]+mark(cells[6]), cells[3]
		case len(cells) == 5: // figure, claim, as the paper, ours, mark
			simulated[cells[0]+" "+cells[1]], preset[cells[0]+" "+cells[1]] = cells[3]+mark(cells[4]), cells[2]
		case len(cells) == 4: // figure, what, paper, ours
			simulated[cells[0]+" "+cells[1]] = cells[3]
		}
	}
	b, err := os.ReadFile("../../docs/research/paper.md")
	if err != nil {
		t.Fatal(err)
	}
	compared, figures, column := 0, []string(nil), 0
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "### Figure"); ok {
			head, _, _ = strings.Cut(strings.TrimPrefix(head, "s"), ":")
			figures, column = strings.Split(strings.TrimSpace(head), " and "), 0
			continue
		}
		cells := cellsOf(line)
		if len(cells) > 2 && cells[0] == "what" && cells[2] == "simulated" {
			if column = 2; cells[3] != "simulated, as the paper" {
				t.Errorf("docs/research/paper.md, figures %v: the columns are %q", figures, cells)
			}
			continue
		}
		if !strings.HasPrefix(line, "|") {
			column = 0 // the table has ended
		}
		if column == 0 || len(cells) <= column {
			continue
		}
		what := strings.TrimPrefix(strings.TrimPrefix(cells[0], "*claim:* "), "*stronger:* ")
		found := false
		for _, f := range figures {
			for key, want := range simulated {
				if strings.ReplaceAll(key, " (Algorithm 1)", "") == f+" "+what {
					found = true
					compared++
					if !sameValue(cells[3], preset[key]) {
						t.Errorf("docs/research/paper.md, figure %s, %s: as the paper %q, docs/research/paper-simulated.md has %q", f, what, cells[3], preset[key])
					}
					if !sameValue(cells[column], want) {
						t.Errorf("docs/research/paper.md, figure %s, %s: simulated %q, docs/research/paper-simulated.md has %q", f, what, cells[column], want)
					}
				}
			}
		}
		if !found {
			t.Errorf("docs/research/paper.md, figures %v: docs/research/paper-simulated.md has no %q", figures, what)
		}
	}
	if want := len(Numbers) + len(Stronger()) + len(Claims); compared != want {
		t.Errorf("compared %d rows of docs/research/paper.md, want %d", compared, want)
	}
}

// mark is how docs/research/paper.md repeats a mark.
func mark(cell string) string {
	for _, m := range []string{"fitted", "seen"} {
		if strings.HasSuffix(cell, m) {
			return " (" + m + ")"
		}
	}
	return ""
}

// sameValue compares a number with four digits with one that has two decimals,
// and texts.
func sameValue(a, b string) bool {
	x, restX, _ := strings.Cut(a, " ")
	y, restY, _ := strings.Cut(b, " ")
	v, errV := strconv.ParseFloat(x, 64)
	w, errW := strconv.ParseFloat(y, 64)
	if errV != nil || errW != nil {
		return a == b
	}
	return restX == restY && math.Abs(v-w) <= 0.0051+0.0006*math.Abs(w)
}
