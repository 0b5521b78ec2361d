package cel

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/cases"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// slow is a pattern whose program has 203 instructions, all of which each byte of a
// string of letters a reaches.
const slow = `id.matches("(?:a?){100}b")`

// letters returns a feature whose id is n times the letter a.
func letters(n int) filter.Input { return filter.Input{ID: []byte(strings.Repeat("a", n))} }

// counted counts steps, and ends the evaluation at step last; 0: at none.
type counted struct{ steps, last int }

var errLast = errors.New("the last step")

func (c *counted) Step() error {
	if c.steps++; c.steps == c.last {
		return errLast
	}
	return nil
}

// A pattern costs as many bytes as it has instructions, for each byte of the
// string, and ends when these are spent: after 4,926 bytes of any string.
func TestCostOfPatterns(t *testing.T) {
	p := mustCompile(t, slow)
	for n, want := range map[int]error{100: nil, 4900: nil, 4950: filter.ErrCost, 10 << 20: filter.ErrCost} {
		c := new(counted)
		got, err := p.MatchIn(letters(n), c)
		if got || !errors.Is(err, want) {
			t.Errorf("%d letters: got %v, %v, want %v", n, got, err, want)
		}
		if work := min(n*203, filter.DefaultCost*props.BytesPerUnit); c.steps > work/props.StepBytes+1 {
			t.Errorf("%d letters: %d steps of %d pairs", n, c.steps, work)
		}
		if err != nil && !strings.Contains(err.Error(), `(?:a?){100}b`) {
			t.Errorf("the error does not name the filter: %v", err)
		}
	}
	// A pattern that is decided early costs little.
	for _, expr := range []string{`id.matches("^a")`, `id.matches("a")`, `!id.matches("^b")`, `id.matches("^a{3}")`} {
		if got, err := mustCompile(t, expr).Match(letters(10 << 20)); !got || err != nil {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
}

// Long evaluations call Step. Its error ends them immediately, whatever the
// rest of the condition says.
func TestMatchInSteps(t *testing.T) {
	text := filter.Input{Properties: []byte(`{"s":"` + strings.Repeat("ß", 50_000) + `"}`)}
	zeros := `[0` + strings.Repeat(",0", 60) + `]`
	for expr, in := range map[string]filter.Input{
		slow + ` || true`:                                            letters(4000),
		`properties.s.foldCase() != ""`:                              text,
		`properties.list.all(x, x == 1)`:                             numbers(10_000),
		`properties.list.filter(x, x == 1) != []`:                    numbers(3000),
		`properties.list.exists_one(x, x == 2)`:                      numbers(10_000),
		`properties.list == properties.list`:                         numbers(10_000),
		`properties.last == 1`:                                       numbers(100_000), // simple
		`1 in properties.list || 2 in properties.list`:               numbers(100_000), // simple
		zeros + `.all(x, ` + zeros + `.all(y, x == y))`:              {},
		zeros + `.exists(x, ` + zeros + `.exists(y, x > y)) || true`: {},
	} {
		p, c := mustCompile(t, expr), new(counted)
		if _, err := p.MatchIn(in, c); err != nil || c.steps == 0 {
			t.Errorf("%s: %d steps, %v", expr, c.steps, err)
			continue
		}
		for last := 1; last <= c.steps; last += (c.steps + 9) / 10 {
			ends := &counted{last: last}
			if got, err := p.MatchIn(in, ends); got || !errors.Is(err, errLast) || ends.steps != last {
				t.Errorf("%s: step %d: got %v, %v at step %d", expr, last, got, err, ends.steps)
			}
		}
	}
	c := new(counted)
	if _, err := mustCompile(t, `id.matches("^node/[0-9]+$") && properties.tags.exists(t, t.foldCase() == "a")`).MatchIn(place, c); err != nil || c.steps > 0 {
		t.Errorf("a usual filter: %d steps, %v", c.steps, err)
	}
}

// A context interrupts a pattern.
func TestMatchContextInterruptsPattern(t *testing.T) {
	got, err := mustCompile(t, slow).MatchContext(&late{Context: context.Background()}, letters(4000))
	if got || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Of properties that exceed the budget no more is scanned: here more would show
// that they have no end.
func TestCostOfLargeProperties(t *testing.T) {
	for _, expr := range []string{`properties.x == 1`, `has(properties.x)`, `properties.exists(k, k == "x")`, `size(properties.x) == 1`} {
		for _, begin := range []string{`{"a":"`, `{"a":[`, `{"a":1`, `{"a" `, `{`} {
			for more, want := range map[int]error{-8: filter.ErrProperties, 8: filter.ErrCost, 1 << 20: filter.ErrCost} {
				props := begin + strings.Repeat(" ", filter.DefaultCost*props.BytesPerUnit+more)
				if got, err := mustCompile(t, expr).Match(filter.Input{Properties: []byte(props)}); got || !errors.Is(err, want) {
					t.Errorf("%s of %d bytes %.10s: got %v, %v, want %v", expr, len(props), props, got, err, want)
				}
			}
		}
	}
}

// TestStepsAgree: patterns and foldCase give Go's results, however the string is read.
func TestStepsAgree(t *testing.T) {
	for _, s := range []string{"", "a", "Straße", "x\xffy", "ab\ncd", "été", "a\xc3"} {
		for _, n := range []int{1, 3, 500, 5000} {
			s := strings.Repeat(s, n)
			in := filter.Input{ID: []byte(s)}
			for _, pattern := range []string{"", "^a+$", "a$", `\bcd`, "(?m)^cd$", "^.*ß.*$", "(?i)É", "[^a]", `\x{FFFD}`, "x.y", "e$|d$|é$"} {
				got, err := mustCompile(t, `id.matches(r"`+pattern+`")`).Match(in)
				if want := regexp.MustCompile(pattern).MatchString(s); got != want || err != nil {
					t.Errorf("%q in %d times %.10q: got %v, %v", pattern, n, s, got, err)
				}
			}
			p := mustCompile(t, `id.foldCase() == type`)
			in.Type = cases.Fold().String(s)
			if got, err := p.Match(in); !got || err != nil {
				t.Errorf("foldCase of %d times %.10q: got %v, %v", n, s, got, err)
			}
		}
	}
}
