package cql2

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// counted counts steps.
type counted int

func (s *counted) Step() error { *s++; return nil }

// Filters that take long for their length, or for the properties, end with ErrCost, in steps.
func TestCost(t *testing.T) {
	list := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(all, ",")
	}
	literals := "(" + list(400, "%d") + ")"
	other := "[" + list(5000, "-1%d") + "]"
	text := strings.Repeat("a", 100_000)
	escaped := strings.Repeat(`\u00c4`, 20_000)
	deep := func(last int) string {
		one := strings.Repeat("[", 30) + fmt.Sprint("1,", last) + strings.Repeat("]", 30)
		return strings.TrimSuffix(strings.Repeat(one+",", 300), ",")
	}
	const most = filter.DefaultCost*10/(16<<10) + 1 // a step for each 16 KiB
	for _, c := range []struct{ name, text, properties string }{
		{"contained", "A_CONTAINEDBY(a, " + literals + ")", `{"a":[` + strings.Repeat("399,", 20_000) + `1]}`},
		{"overlaps", "A_OVERLAPS(a, b)", `{"a":[` + list(5000, "%d") + `],"b":` + other + `}`},
		{"equals", "A_EQUALS(a, b)", `{"a":[` + list(5000, "%d") + `],"b":[` + list(5000, "%d") + `]}`},
		{"texts", "A_OVERLAPS(a, b)", `{"a":[` + list(5000, `"x%d"`) + `],"b":[` + list(5000, `"y%d"`) + `]}`},
		{"names", "A_CONTAINS(a, b)", `{"a":{` + list(3000, `"x%d":1`) + `},"b":{` + list(3000, `"x%d":1`) + `}}`},
		{"objects", "A_OVERLAPS(a, b)", `{"a":[` + list(300, `{"x":%d}`) + `],"b":[` + list(3000, `{"y":%d}`) + `]}`},
		{"deep", "A_OVERLAPS(a, b)", `{"a":[` + deep(2) + `],"b":[` + deep(3) + `]}`},
		{"empty", "A_OVERLAPS(a, b)", `{"a":[` + strings.Repeat("0,", 10_000) + `1],"b":[` + strings.Repeat("2,", 10_000) + `2]}`},
		{"pattern", "a LIKE '" + strings.Repeat("%a_", 20) + "b'", `{"a":"` + text + `"}`},
		{"folded", strings.Repeat("CASEI(a) = 'b' OR ", 150) + "FALSE", `{"a":"` + text + `"}`},
		{"escaped", strings.Repeat("a LIKE '%b' OR ", 150) + "FALSE", `{"a":"` + escaped + `"}`},
		{"times", strings.Repeat("T_AFTER(a, DATE('2024-01-01')) OR ", 99) + "FALSE", `{"a":"` + text + `"}`},
	} {
		f, err := Parse(c.text, any1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		steps := new(counted)
		got, err := f.Where.MatchIn(filter.Input{Properties: []byte(c.properties)}, steps)
		if got || !errors.Is(err, filter.ErrCost) || *steps < 8 || *steps > most {
			t.Errorf("%s: %v, %v after %d steps", c.name, got, err, *steps)
		}
	}
}
