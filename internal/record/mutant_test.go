//go:build mutants

package record

import "testing"

// TestMutants: whichever rule is broken, a script of few steps shows it; no script
// fails if all rules are kept.
//
// There is one exception: that readers compare the generation. The reference is in the
// check sum, so that the sum refuses a reader that does not compare it. The comparison
// is quicker, and distinguishes a reused place from a torn record.
func TestMutants(t *testing.T) {
	defer func() { mutant = faithful }()
	for m := faithful; m < mutations; m++ {
		t.Run(m.String(), func(t *testing.T) {
			mutant = m
			harmless := m == faithful || m == generationIgnored
			for n := 1; n <= modes[0].steps; n++ {
				for _, m := range modes {
					if n > m.steps {
						continue
					}
					var c explored
					script, err := exploreAll(t, n, m, &c)
					if err == nil {
						continue
					}
					if harmless {
						t.Fatalf("%v: %v", script, err)
					}
					t.Logf("%v: %v", script, err)
					return
				}
			}
			if !harmless {
				t.Error("not noticed")
			}
		})
	}
}

// TestMutantInTime: readers in time need no check sum and no generation. (It
// is late ones that do: TestMutants.)
func TestMutantInTime(t *testing.T) {
	defer func() { mutant = faithful }()
	for _, m := range []mutation{sumIgnored, generationIgnored} {
		mutant = m
		c := explored{onlyInTime: true}
		if script, err := exploreAll(t, modes[0].steps, modes[0], &c); err != nil || c.taken == 0 || c.late > 0 {
			t.Errorf("%v: %v: %v, %+v", m, script, err, c)
		}
	}
}
