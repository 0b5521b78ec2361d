package cel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/internal/props"
)

// numbers is an object with a list of n numbers.
func numbers(n int) filter.Input {
	return filter.Input{Properties: []byte(`{"list":[1` + strings.Repeat(",1", n-1) + `],"last":1}`)}
}

func TestCostLimit(t *testing.T) {
	for _, c := range []struct {
		name, expr string
		in         filter.Input
	}{
		{"loops", `properties.list.all(x, properties.list.all(y, x + y == 2))`, numbers(300)},
		{"loops", `!properties.list.exists(x, properties.list.exists(y, x + y == 3)) || true`, numbers(300)},
		// Few steps, each of which reads 6 KB.
		{"reading", `properties.list.filter(x, properties.last == 1).size() > 0`, numbers(3000)},
		{"reading", `properties.list.all(x, properties.last == 2 || true) || true`, numbers(3000)},
		{"comparing", `properties.list.all(x, properties != {"a": 1})`, numbers(1000)},
		// Strings that grow, lists that grow: not for long.
		{"strings", strings.Repeat(`properties.s + `, 50) + `"" != ""`,
			filter.Input{Properties: []byte(`{"s":"` + strings.Repeat("x", 50_000) + `"}`)}},
		{"iterated", `properties.l.all(s, ` + strings.Repeat(`s+`, 50) + `s != "")`,
			filter.Input{Properties: []byte(`{"l":["` + strings.Repeat("x", 50_000) + `"]}`)}},
		{"lists", `size(` + strings.Repeat(`properties.list+`, 50) + `[1]) > 0`, numbers(1000)},
		// A joined list is slow to step over.
		{"joined", `(properties.list + [1]).all(x, x == 1)`, numbers(1000)},
		// Comparing strings, whose types the checker does not know.
		{"order", `properties.l.all(s, properties.list.all(x, s <= s))`, filter.Input{Properties: []byte(
			`{"l":["` + strings.Repeat("x", 50_000) + `"],` + string(numbers(100).Properties[1:]))}},
		// A pattern of 20 characters that is slow.
		{"pattern", `properties.list.all(x, id.matches("(x{1,50}){1,2}y") || true)`,
			filter.Input{ID: []byte(strings.Repeat("x", 100)), Properties: numbers(100).Properties}},
		// Reading the file of a time zone.
		{"zones", `properties.list.all(x, now.getHours("Europe/Andorra") == 14 || true)`, numbers(1000)},
	} {
		p := mustCompile(t, c.expr)
		got, err := p.Match(c.in)
		if got || !errors.Is(err, filter.ErrCost) || !strings.Contains(err.Error(), "100000 units") {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
		// A larger limit is enough.
		if c.name != "loops" && c.name != "reading" {
			continue
		}
		p, err = Compile(c.expr, Options{CostLimit: 1e9})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Match(c.in); !got || err != nil {
			t.Errorf("%s with 1e9: got %v, %v", c.name, got, err)
		}
	}
}

// Loops read each element once: the default limit has room for some 10000, also
// of objects.
func TestCostOfLoops(t *testing.T) {
	names := `{"n0":0`
	for i := range 5000 {
		names += fmt.Sprintf(`,"n%d":%d`, i+1, i)
	}
	for expr, in := range map[string]filter.Input{
		`properties.list.all(x, x == 1)`:                 numbers(10_000),
		`!properties.list.exists(x, x != 1)`:             numbers(10_000),
		`properties.list.filter(x, x == 1).size() > 999`: numbers(1000),
		`properties.all(n, n.startsWith("n"))`:           {Properties: []byte(names + "}")},
	} {
		if got, err := mustCompile(t, expr).Match(in); !got || err != nil {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
}

// Simple filters count what they read, too: here 6 KB, 600 units.
func TestCostLimitSimple(t *testing.T) {
	in := numbers(3000)
	for _, c := range []struct {
		limit uint64
		err   error
	}{{500, filter.ErrCost}, {700, nil}} {
		for _, expr := range []string{`properties.last == 1`, `has(properties.last)`, `properties.last in [1]`} {
			p, err := Compile(expr, Options{CostLimit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			if !isTree(t, expr) {
				t.Fatalf("%s is not simple", expr)
			}
			got, err := matchWithin(t, p, in, Options{CostLimit: c.limit})
			if !errors.Is(err, c.err) || got != (c.err == nil) {
				t.Errorf("%s, limit %d: got %v, %v", expr, c.limit, got, err)
			}
		}
	}
}

// An expression that costs too much for any feature does not compile.
func TestCostLimitCompile(t *testing.T) {
	expr := `[` + strings.Repeat(`{},`, 100) + `{}] == properties.l`
	_, err := Compile(expr, Options{CostLimit: 1000})
	if !errors.Is(err, filter.ErrFilter) || !strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("got %v", err)
	}
	if _, err := Compile(expr, Options{}); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestManyErrors: a hundred errors are refused without much memory.
func TestManyErrors(t *testing.T) {
	const one = `properties.name.matches("^.*1.*2.*3.*x$") || `
	expr := strings.Repeat(one, defaultLength/len(one)-1) + "true"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Compile(expr, Options{})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, filter.ErrFilter) || !strings.Contains(err.Error(), "at most 250") {
		t.Fatalf("got %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Errorf("the error took %d MiB of memory", took>>20)
	}
}

// late is a context that has ended, but whose first Err does not say so.
type late struct {
	context.Context
	asked int
}

func (l *late) Err() error {
	if l.asked++; l.asked == 1 {
		return nil
	}
	return context.DeadlineExceeded
}

func (l *late) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// A long evaluation notices that its context ends.
func TestMatchContextInterrupts(t *testing.T) {
	p := mustCompile(t, `properties.list.all(x, x == 1)`)
	got, err := p.MatchContext(&late{Context: context.Background()}, numbers(2*props.StepBytes/props.LoopBytes))
	if got || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Concurrent evaluations do not see each other's features.
func TestMatchConcurrently(t *testing.T) {
	for _, expr := range []string{
		`properties.last == 1 && 1 in properties.list`,
		`properties.list.all(x, x == 1) && size(properties.list) < 3`,
	} {
		p := mustCompile(t, expr)
		var group sync.WaitGroup
		for g := range 4 {
			group.Go(func() {
				in, want := numbers(2), true
				if g%2 == 1 {
					in, want = filter.Input{Properties: []byte(`{"list":[1,2],"last":2}`)}, false
				}
				for range 500 {
					if got, err := p.Match(in); got != want || err != nil {
						t.Errorf("%s: got %v, %v; want %v", expr, got, err, want)
						return
					}
				}
			})
		}
		group.Wait()
	}
}

// An evaluation keeps nothing of a feature, even when it fails.
func TestMatchKeepsNoState(t *testing.T) {
	p := mustCompile(t, `size(properties.a) == 1`)
	for _, c := range []struct {
		props string
		want  bool
		err   error
	}{
		{`{"a":[1]}`, true, nil}, {`{"a":[1`, false, filter.ErrProperties},
		{`{}`, false, nil}, {`{"a":[2]}`, true, nil},
	} {
		if got, err := p.Match(filter.Input{Properties: []byte(c.props)}); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v", c.props, got, err)
		}
	}
}

func TestSimpleAllocatesNothing(t *testing.T) {
	for _, expr := range []string{
		`properties.amenity == "cafe" && properties.seats > 20 && properties.rating >= 4`,
		`id.startsWith("node/") && type == "Point" && revision > 1`,
		`!has(properties.stars) || properties.stars in [3, 4, 5]`,
		`properties["addr:city"].contains("Vella")`,
	} {
		p := mustCompile(t, expr)
		ctx := context.Background()
		if n := testing.AllocsPerRun(100, func() {
			if ok, err := p.MatchContext(ctx, place); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", expr, n)
		}
	}
}

func TestCache(t *testing.T) {
	c := filter.NewCache(2, func(expr string) (*filter.Program, error) { return Compile(expr, Options{CostLimit: 500}) })
	get := func(expr string) *filter.Program {
		t.Helper()
		p, err := c.Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := get(`properties.a`), get(`properties.b`)
	if get(`properties.a`) != a || get(`properties.b`) != b {
		t.Error("compiled again what was kept")
	}
	get(`properties.a`)
	get(`properties.c`) // instead of b, the least recently used
	if !c.Has(`properties.a`) || c.Has(`properties.b`) || c.Has(`properties.x`) {
		t.Error("has what it has not, or not what it has")
	}
	if c.Len() != 2 || get(`properties.a`) != a || get(`properties.b`) == b {
		t.Errorf("%d programs, or the wrong one was dropped", c.Len())
	}
	if _, err := c.Compile(`properties.`); !errors.Is(err, filter.ErrFilter) {
		t.Errorf("got %v", err)
	}
	if c.Len() != 2 {
		t.Errorf("%d programs", c.Len())
	}
	if _, err := get(`properties.last == 1`).Match(numbers(3000)); !errors.Is(err, filter.ErrCost) {
		t.Errorf("options are not used: %v", err)
	}
	c = NewCache(0)
	if get(`properties.a`); c.Len() != 1 {
		t.Errorf("%d programs", c.Len())
	}
}

func TestCacheConcurrently(t *testing.T) {
	c := NewCache(3)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 20 {
				expr := `properties.` + string(rune('a'+(g+i)%5))
				if p, err := c.Compile(expr); err != nil || p.String() != expr {
					t.Errorf("%s: got %v, %v", expr, p, err)
				}
			}
		})
	}
	group.Wait()
	if c.Len() != 3 {
		t.Errorf("%d programs", c.Len())
	}
}
