package docs

import (
	"maps"
	"math/bits"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A figure stands on one page, so that it is measured again in one place. These
// pages repeat figures of another one for their readers; both must have the same text.
var copies = []struct {
	page, source string
	figures      []string
}{
	{"README.md", "docs/research/http-figures.md", []string{
		"36,016", "3.24", "10,078", "6.96", "8,860", "22.74",
		"16,642", "4.53", "6,356", "8.98", "1,690", "72.76", "26,691",
	}},
	{"docs/papers/hydradb.md", "docs/research/records-figures.md", []string{"79.6", "6.4", "2.9", "2.3", "1.0"}},
}

// series are pages that have figures of the same work by design: a test of package
// paper compares the first two, and history is what benchmarks.md had before.
var series = [][]string{
	{"docs/research/paper.md", "docs/research/paper-simulated.md"},
	{"docs/research/benchmarks.md", "docs/research/benchmarks-history.md"},
}

// sizes are numbers of objects in data sets, which several measurements use.
var sizes = []string{"21,693", "29,149", "378,877", "1,888,012"}

var (
	word   = regexp.MustCompile(`[\w.,:/=#+-]+`)
	number = regexp.MustCompile(`^\d{1,3}(?:,\d{3})*(?:\.\d+)?$`)
)

// significant counts the significant digits of a number, without zeros at the end of
// an integer. Powers of two have none: they are limits, not measured.
func significant(n string) int {
	digits := strings.ReplaceAll(n, ",", "")
	if whole, err := strconv.ParseUint(digits, 10, 64); err == nil {
		if bits.OnesCount64(whole) == 1 {
			return 0
		}
		digits = strings.TrimRight(digits, "0")
	}
	return len(strings.TrimLeft(strings.ReplaceAll(digits, ".", ""), "0"))
}

// figures are the numbers of a page with a separator of thousands or a fraction, and
// with that many significant digits at least, a fraction with one more, since versions
// look alike; not those of commands.
func figures(text string, digits int) map[string]bool {
	all := map[string]bool{}
	for line := range strings.SplitSeq(fenced.ReplaceAllString(text, ""), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue
		}
		for _, n := range word.FindAllString(line, -1) {
			n = strings.TrimRight(n, ".,:")
			if !number.MatchString(n) || slices.Contains(sizes, n) {
				continue
			}
			fraction := strings.Contains(n, ".")
			if fraction && significant(n) > digits || strings.Contains(n, ",") && significant(n) >= digits {
				all[n] = true
			}
		}
	}
	return all
}

// mayRepeat says whether two pages may have a figure in common.
func mayRepeat(a, b, figure string) bool {
	for _, c := range copies {
		if (c.page == a && c.source == b || c.page == b && c.source == a) && slices.Contains(c.figures, figure) {
			return true
		}
	}
	return slices.ContainsFunc(series, func(s []string) bool { return slices.Contains(s, a) && slices.Contains(s, b) })
}

func TestSignificant(t *testing.T) {
	for n, want := range map[string]int{"36,016": 5, "10,000": 1, "65,536": 0, "3.24": 3, "0.50": 2, "1,500": 2, "100.0": 4} {
		if got := significant(n); got != want {
			t.Errorf("%s: %d digits, want %d", n, got, want)
		}
	}
}

// A page that repeats a figure of another one has the same text.
func TestCopiesAreOfTheirSource(t *testing.T) {
	all := pages(t)
	for _, c := range copies {
		for _, f := range c.figures {
			for _, page := range []string{c.page, c.source} {
				if !figures(all[page], 0)[f] {
					t.Errorf("%s repeats figures of %s, but %s is not in %s", c.page, c.source, f, page)
				}
			}
		}
	}
}

// Guides have no figures of pages of research, but link to these.
func TestGuidesRepeatNoFigures(t *testing.T) {
	all := pages(t)
	for _, guide := range slices.Sorted(maps.Keys(all)) {
		if dir := filepath.Dir(guide); dir != "." && dir != "docs" || guide == "CHANGELOG.md" {
			continue
		}
		mine := figures(all[guide], 3)
		for _, page := range slices.Sorted(maps.Keys(all)) {
			if dir := filepath.Dir(page); dir != "docs/research" && dir != "docs/papers" {
				continue
			}
			for f := range figures(all[page], 3) {
				if mine[f] && !mayRepeat(guide, page, f) {
					t.Errorf("%s has figure %s of %s: link to it", guide, f, page)
				}
			}
		}
	}
}

// Figures of five and more digits, which are not equal by chance, stand on one page.
func TestFiguresStandOnOnePage(t *testing.T) {
	all := pages(t)
	delete(all, "CHANGELOG.md") // says what a release had at its time
	where := map[string][]string{}
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for f := range figures(all[page], 5) {
			where[f] = append(where[f], page)
		}
	}
	for f, on := range where {
		for i, page := range on[1:] {
			if !mayRepeat(on[i], page, f) {
				t.Errorf("figure %s is in %s and in %s", f, on[i], page)
			}
		}
	}
}
