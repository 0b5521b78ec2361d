//go:build mutants

package kv

import "testing"

// TestMutants: whichever rule is broken, a script of few steps shows it; no script
// fails if all rules are kept.
func TestMutants(t *testing.T) {
	defer func() { mutant = faithful }()
	for m := faithful; m < mutations; m++ {
		t.Run(m.String(), func(t *testing.T) {
			mutant = m
			for n := 1; n <= followScript; n++ {
				var c followCounts
				script, err := exploreFollow(t, n, &c)
				switch {
				case err == nil:
				case m == faithful:
					t.Fatalf("%v: %v", script, err)
				default:
					t.Logf("%v: %v", script, err)
					return
				}
			}
			if m != faithful {
				t.Error("not noticed")
			}
		})
	}
}
