package hydradb

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/sim"
)

// The table in docs is what the program makes, and has the paper's order: relaxed with one
// secondary, with two, strict.
func TestPageIsFresh(t *testing.T) {
	cl, err := sim.Open(Cluster)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Predict(t.Context(), cl, 1)
	if err != nil {
		t.Fatal(err)
	}
	for j, n := range Clients {
		one, two, strict := rows[1].Times[j], rows[2].Times[j], rows[5].Times[j]
		if one <= 1 || two <= one || strict <= one {
			t.Errorf("%d clients: relaxed %v and %v times, strict %v", n, one, two, strict)
		}
	}
	isFresh(t, "13", func(w io.Writer) error { return Write(w, rows) })
}

// isFresh compares the table of a figure in docs with what write writes.
func isFresh(t *testing.T, figure string, write func(io.Writer) error) {
	t.Helper()
	var made bytes.Buffer
	if err := write(&made); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/papers/hydradb.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- hydradb "+figure+" -->\n")
	if kept, _, ok := strings.Cut(rest, "<!-- hydradb: end -->"); !ok || kept != made.String() {
		t.Errorf("docs/papers/hydradb.md is not what the program makes (make hydradb-docs):\n%s\nwant\n%s", kept, made.String())
	}
}
