package papers

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/paper"
)

const (
	root = "../.."
	docs = root + "/docs"
	page = docs + "/papers/README.md"
)

var write = flag.Bool("write", false, "write the page")

// TestPageIsFresh: the page is what the data and the pages that it quotes give.
func TestPageIsFresh(t *testing.T) {
	made, err := Page(docs)
	if err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) == made {
		return
	}
	was, is := strings.Split(string(kept), "\n"), strings.Split(made, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			t.Fatalf("line %d of %s is not what `make papers` makes:\n%s\nwant\n%s", i+1, page, was[i], is[i])
		}
	}
	t.Fatalf("%s has %d lines, `make papers` makes %d", page, len(was), len(is))
}

// TestCounts: rows and numbers are as many as the papers have. A row that is built, or found
// to be other than it was said to be, changes its kind here, too; none may vanish.
func TestCounts(t *testing.T) {
	for name, want := range map[string]struct {
		rows    map[Kind]int
		numbers Counts
	}{
		"catfish": {map[Kind]int{Faithful: 32, Selectable: 9, Deviates: 15, Impossible: 1}, Counts{35, 35, 35, 0, 0}},
		"rfp":     {map[Kind]int{Faithful: 20, Selectable: 5, Deviates: 13, Impossible: 2}, Counts{71, 1, 67, 3, 0}},
		"hydradb": {map[Kind]int{Faithful: 12, Selectable: 7, Deviates: 14, Impossible: 2}, Counts{41, 13, 30, 3, 0}},
		"rhkv":    {map[Kind]int{Faithful: 13, Selectable: 1, Deviates: 11, Impossible: 3}, Counts{31, 20, 0, 11, 0}},
		"mongo":   {map[Kind]int{Faithful: 6, Deviates: 7, Impossible: 1}, Counts{17, 17, 0, 0, 0}},
	} {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range p.Numbers {
			if err := p.Numbers[i].fill(docs); err != nil {
				t.Error(err)
			}
		}
		rows, numbers := p.Count()
		if !maps.Equal(rows, want.rows) || numbers != want.numbers {
			t.Errorf("%s: %v, %+v, want %v, %+v", name, rows, numbers, want.rows, want.numbers)
		}
	}
}

// TestNumbersOfCatfish: each number that the reports compare with is on the page, with what
// is simulated and what is measured.
func TestNumbersOfCatfish(t *testing.T) {
	p, err := Load("catfish")
	if err != nil {
		t.Fatal(err)
	}
	g := &p.Numbers[0]
	if err := g.fill(docs); err != nil {
		t.Fatal(err)
	}
	for i, n := range paper.Numbers {
		if i >= len(g.Numbers) {
			t.Fatalf("%d numbers, want %d", len(g.Numbers), len(paper.Numbers))
		}
		got := g.Numbers[i]
		if got.What != "figure "+n.Figure+", "+n.What() || got.Printed != fmt.Sprintf("%.2f", n.Value) || got.Simulated == "" || got.Measured == "" {
			t.Errorf("%+v, want %s, %v", got, n.What(), n.Value)
		}
	}
}

var named = regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z]\w+`)

// TestNamedTestsExist: a row that names a test or a benchmark as its proof names one that
// there is.
func TestNamedTestsExist(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range named.FindAllString(string(text), -1) {
		missing[name] = true
	}
	if len(missing) < 8 {
		t.Errorf("the page names %d tests only", len(missing))
	}
	err = filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for name := range missing {
			if strings.Contains(string(code), "func "+name+"(") {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("%v: there are no %v", err, missing)
	}
}

// TestIncompleteData: what would be a silent gap on the page is refused.
func TestIncompleteData(t *testing.T) {
	row := func(s string) string { return "[[section]]\nrow = [ { what = \"x\", " + s + " } ]" }
	number := func(group, s string) string {
		return "[[numbers]]\n" + group + "\nnumber = [ { what = \"x\", printed = \"1\"" + s + " } ]"
	}
	for text, want := range map[string]string{
		"colour = 1":                                                              `unknown key "colour"`,
		row(`kind = "partly"`):                                                    `kind "partly"`,
		row(`kind = "faithful"`):                                                  "where",
		row(`kind = "selectable"`):                                                "flag",
		row(`kind = "deviates", flag = "-f"`):                                     "flag",
		row(`kind = "deviates", here = "y"`):                                      "why",
		row(`kind = "faithful", here = "y", literal = "z"`):                       "literal",
		row(`kind = "not built"`):                                                 "why",
		row(`kind = "impossible"`):                                                "why",
		row(`kind = "faithful", here = "|"`):                                      "ends a cell",
		number("", ""):                                                            "one reason",
		number("", `, measured = "1"`):                                            "names no command",
		number("", `, simulated = "1"`):                                           "names no command",
		number(`simulated = "c"`, `, row = "r"`):                                  "no page",
		number(`measured = "c"`, `, measured = "1", missing = "m"`):               "one reason",
		number("", `, missing = "m", impossible = "m"`):                           "one reason",
		"[[numbers]]\nnumber = [ { what = \"x\", missing = \"m\" } ]":             "nothing printed",
		number("simulated = \"c\"\npage = \"p\"", `, row = "r", simulated = "1"`): "one reason",
	} {
		if _, err := parse("test", text); !errors.Is(err, ErrData) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, g := range []Group{
		{Page: "papers/none.md"},
		{Page: "cache.md"},
		{Page: "research/paper-simulated.md", Beside: "cache.md"},
		{Page: "papers/hydradb.md", Numbers: []Number{{Row: "slow"}}},
	} {
		if err := g.fill(docs); err == nil {
			t.Errorf("%+v was filled: %v", g, g.Numbers[0])
		}
	}
}
