package rstar_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// TestStrategyNames: names are read back, in JSON too; the error for an unknown one
// lists the strategies.
func TestStrategyNames(t *testing.T) {
	for _, s := range []rstar.Strategy{rstar.Revised, rstar.Original, rstar.OriginalDoubles} {
		if got, err := rstar.ParseStrategy(s.String()); err != nil || got != s {
			t.Errorf("%v: %v, %v", s, got, err)
		}
		b, err := json.Marshal(s)
		if err != nil || string(b) != `"`+s.String()+`"` {
			t.Errorf("%v: %s, %v", s, b, err)
		}
		var back rstar.Strategy
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Errorf("%s: %v, %v", b, back, err)
		}
	}
	for _, name := range []string{"", "Original", "r*", "Strategy(1)"} {
		if _, err := rstar.ParseStrategy(name); !errors.Is(err, rstar.ErrBadOptions) ||
			!strings.Contains(err.Error(), "want one of revised, original, original-doubles") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if b, err := json.Marshal(rstar.Strategy(3)); !errors.Is(err, rstar.ErrBadOptions) {
		t.Errorf("%s, %v", b, err)
	}
}
