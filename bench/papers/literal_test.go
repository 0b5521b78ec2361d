package papers

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestLiteralOnPages: each paper's page has the table of its literal forms near its top, as the
// data say, and it is short. -write writes it.
func TestLiteralOnPages(t *testing.T) {
	for _, name := range Names {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		path := docs + "/" + Pages[name]
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table := p.Literal()
		made, err := Between(string(kept), table)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if *write {
			if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if made != string(kept) {
			t.Errorf("%s: `make papers` makes\n%s", path, table)
		}
		if n := strings.Count(table, "\n"); n < 3 || n > 14 {
			t.Errorf("%s: a table of %d lines, want 3 to 14", path, n)
		}
		if top, _, _ := strings.Cut(made, literalBegin); strings.Count(top, "\n## ") != 1 {
			t.Errorf("%s: the table is not below the first heading", path)
		}
	}
}

func TestBetween(t *testing.T) {
	got, err := Between("a\n"+literalBegin+"old\n"+literalEnd+"z\n", "new\n")
	if want := "a\n" + literalBegin + "new\n" + literalEnd + "z\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, page := range []string{"", literalBegin, literalEnd + literalBegin} {
		if _, err := Between(page, "new\n"); !errors.Is(err, ErrData) {
			t.Errorf("%q: %v", page, err)
		}
	}
}
