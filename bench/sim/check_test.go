package sim

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// thismachine.toml explains the measured runs that it was fitted to, and
// its predictions of the others are off no more often than
// docs/paper-simulated.md says.
func TestThisMachine(t *testing.T) {
	cl := openCluster(t, "thismachine")
	cache := new(Cache)
	check := func(name string) (far []Checked) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := ReadRows(f)
		if err != nil {
			t.Fatal(err)
		}
		goals, _, err := RowGoals(rows, cl, cache, 20*time.Millisecond, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		all, err := Check(t.Context(), cl, goals)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WriteChecked(&out, cl, all); err != nil || !strings.HasPrefix(out.String(), "Simulated") {
			t.Errorf("%v\n%s", err, out.String())
		}
		for _, c := range all {
			if c.Far() {
				far = append(far, c)
			}
		}
		return far
	}
	if far := check("testdata/thismachine-fit.jsonl"); len(far) > 0 {
		t.Errorf("fitted, and off: %+v", far)
	}
	if far := check("testdata/thismachine-check.jsonl"); len(far) > 1 {
		t.Errorf("predicted, and off: %+v", far)
	}
}
