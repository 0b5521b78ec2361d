package sim

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

func scaleOut(t *testing.T, objects int, text string) []ScaleOutRow {
	t.Helper()
	rows, err := ScaleOut(t.Context(), openCluster(t, "paper"), new(Cache), objects, text, 1, func(string) {})
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows
}

// A part of the page is what is simulated, and more groups serve more: small searches almost
// in proportion, since they ask few.
func TestScaleOutPageIsFresh(t *testing.T) {
	rows := scaleOut(t, ScaleOutObjects, "California")
	var made bytes.Buffer
	if err := WriteScaleOut(&made, rows); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/research/scale-out-simulated.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(made.String()) {
		if !strings.Contains(string(page), line) {
			t.Errorf("docs/research/scale-out-simulated.md lacks (make scale-out-docs):\n%s", line)
		}
	}
	for i := range rows[1:] {
		if rows[i+1].Times <= rows[i].Times {
			t.Errorf("%d groups: %v times one, %d: %v", rows[i].Groups, rows[i].Times, rows[i+1].Groups, rows[i+1].Times)
		}
	}
	if three := rows[2]; three.Asked > 1.1 || three.Times < 2.7 {
		t.Errorf("3 groups: a search asks %v, %v times one", three.Asked, three.Times)
	}
}

// Searches that all groups answer gain little where a request costs more than its results, and
// gets by id gain in proportion. The servers are small, so that few clients keep them busy.
func TestScaleOutOrder(t *testing.T) {
	cl := openCluster(t, "paper")
	cl.Server.Cores, cl.Server.NIC.Gbits = 2, 10
	spec := cl.Spec("rea02-like", 5000, "QR2", 1)
	spec.Placing = Features
	times := func(scheme string, run func(r *ScaleOutRow) error) float64 {
		one, three := ScaleOutRow{Scheme: scheme, Groups: 1}, ScaleOutRow{Scheme: scheme, Groups: 3}
		if err := errors.Join(run(&one), run(&three)); err != nil {
			t.Fatal(err)
		}
		return three.OpsPerS / one.OpsPerS
	}
	search := func(r *ScaleOutRow) error {
		spec.Groups = r.Groups
		return r.search(t.Context(), cl, spec, new(Cache), func(string) {})
	}
	messages, reads := times("fast", search), times("offload", search)
	gets := times("fast", func(r *ScaleOutRow) error { return r.get(t.Context(), cl, 1) })
	if messages < 1 || messages > 1.3 || reads <= messages || gets <= reads || gets < 2.9 {
		t.Errorf("with 3 groups features have %v times by messages, %v by reads, gets %v", messages, reads, gets)
	}
}

func TestScaleOutCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ScaleOut(ctx, openCluster(t, "paper"), new(Cache), 1000, "gets", 1, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
