package mutants

import "testing"

// TestChosen: each package finds its own rules only.
func TestChosen(t *testing.T) {
	rules := []string{"faithful", "early", "late"}
	for env, want := range map[string]int{"": 0, "a.early": 1, "a.late": 2, "b.late": 0, "ab.late": 0} {
		t.Setenv(Env, env)
		if got := Chosen("a", rules); got != want {
			t.Errorf("%q: rule %d, want %d", env, got, want)
		}
	}
	for _, env := range []string{"a.never", "early", "a."} {
		t.Setenv(Env, env)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was accepted", env)
				}
			}()
			Chosen("a", rules)
		}()
	}
}
