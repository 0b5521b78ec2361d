package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// units are those that rows are compared by; others, such as results/op,
// only describe.
var units = []string{"ns/op", "ns/object", "B/entry"}

// table is a file of results. Rows and libraries are in the order of
// their first appearance.
type table struct {
	comments []string
	impls    []string
	rows     []*row
}

// row is one benchmark, but for the library.
type row struct {
	name, unit string
	values     map[string][]float64 // by library, a value for each round
	disturbed  bool                 // another program ran on the core
}

// A row whose process had less of its core than this was disturbed; an idle
// machine shows 99 and more. Its processor time is then nearer to its
// undisturbed time than its wall time: at a share of 63 % a search of 140 ns
// took 219 ns of wall time and 139 ns of processor time. It is not equal,
// since the other program evicts the caches.
const minCorePercent = 95

var errNoRows = errors.New("no results in it")

func parse(r io.Reader) (*table, error) {
	t := &table{}
	byName := map[string]*row{}
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if strings.HasPrefix(line, "#") && !slices.Contains(t.comments, line) {
			t.comments = append(t.comments, line)
		}
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name, impl, ok := splitName(f[0])
		if !ok {
			return nil, fmt.Errorf("line %d: %s has no impl=", n, f[0])
		}
		value, unit, err := primary(f[2:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		to := byName[name]
		if to == nil {
			to = &row{name: name, unit: unit, values: map[string][]float64{}}
			byName[name] = to
			t.rows = append(t.rows, to)
		}
		if unit != to.unit {
			return nil, fmt.Errorf("line %d: %s in %s, before in %s", n, f[0], unit, to.unit)
		}
		if share, ok := metric(f[2:], "core-%"); ok && share < minCorePercent && share > 0 {
			to.disturbed = true
			value *= share / 100
		}
		to.values[impl] = append(to.values[impl], value)
		if !slices.Contains(t.impls, impl) {
			t.impls = append(t.impls, impl)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	if len(t.rows) == 0 {
		return nil, errNoRows
	}
	return t, nil
}

// splitName cuts off impl=X, the last part of a name, and the number of
// processors that go test appends.
func splitName(full string) (name, impl string, ok bool) {
	full = strings.TrimPrefix(full, "BenchmarkTree/")
	name, impl, ok = strings.Cut(full, "/impl=")
	if i := strings.LastIndexByte(impl, '-'); i >= 0 {
		if _, err := strconv.Atoi(impl[i+1:]); err == nil {
			impl = impl[:i]
		}
	}
	return name, impl, ok
}

// primary finds the value to compare among pairs of value and unit.
func primary(f []string) (value float64, unit string, err error) {
	for _, unit := range units {
		if v, ok := metric(f, unit); ok {
			return v, unit, nil
		}
	}
	return 0, "", fmt.Errorf("no value in %s", strings.Join(units, ", "))
}

func metric(f []string, unit string) (value float64, ok bool) {
	for i := 0; i+1 < len(f); i += 2 {
		if f[i+1] == unit {
			v, err := strconv.ParseFloat(f[i], 64)
			return v, err == nil
		}
	}
	return 0, false
}
