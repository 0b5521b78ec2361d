package paper

import (
	"errors"
	"testing"
)

// TestWithSeries: the named series take the place of all experiments' own, and
// the experiments themselves stay unchanged.
func TestWithSeries(t *testing.T) {
	own := len(Experiments[0].Series)
	with, err := WithSeries(Experiments, []string{"fast", "fetch"})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range with {
		if e.Name == microName {
			if len(e.Series) != 0 {
				t.Errorf("%s has series %v", e.Name, e.Series)
			}
			continue
		}
		if len(e.Series) != 2 || e.Series[0] != fast || e.Series[1] != fetch || titleOf(e.Series[1].Name) != fetch.Title {
			t.Errorf("%s: %v", Experiments[i].Name, e.Series)
		}
	}
	if len(Experiments[0].Series) != own {
		t.Error("the paper's experiments have changed")
	}
	for _, names := range [][]string{{"fats"}, {"fast", "fast"}} {
		if _, err := WithSeries(Experiments, names); !errors.Is(err, ErrSeries) {
			t.Errorf("%q: %v", names, err)
		}
	}
}
