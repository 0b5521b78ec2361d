package bench

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

func TestParseMix(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"search=100", "search=100"},
		{"insert=10,search=90", "search=90,insert=10"},
		{" search=50, nearest=20,insert=10,delete=10,update=10",
			"search=50,nearest=20,insert=10,delete=10,update=10"},
		{"search=100,insert=0", "search=100"},
	} {
		m, err := ParseMix(c.in)
		if err != nil || m.String() != c.out {
			t.Errorf("ParseMix(%q) = %q, %v; want %q", c.in, m, err, c.out)
		}
	}
	for _, in := range []string{
		"", "search", "search=", "search=101", "search=-1", "search=99",
		"search=50,search=50", "scan=100", "search=90;insert=10", "search=1e2",
	} {
		_, err := ParseMix(in)
		if !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), in) {
			t.Errorf("ParseMix(%q): %v, want harness.ErrConfig naming it", in, err)
		}
	}
}

func FuzzParseMix(f *testing.F) {
	for _, s := range []string{"search=90,insert=10", "search=100", "=", "a=1,", ",,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMix(text)
		if err != nil {
			return
		}
		if again, err := ParseMix(m.String()); err != nil || again != m {
			t.Fatalf("%q: %v became %v, %v", text, m, again, err)
		}
	})
}

func TestSequenceHasExactShares(t *testing.T) {
	m := Mix{Search: 70, Insert: 20, Update: 10}
	ops := m.sequence(rand.New(rand.NewPCG(1, 2)))
	var n [numOps]int
	for _, op := range ops {
		n[op]++
	}
	for op, share := range m {
		if n[op]*100 != share*len(ops) {
			t.Errorf("%v: %d of %d, want %d %%", Op(op), n[op], len(ops), share)
		}
	}
}
