package cql2

import (
	"errors"
	"strings"
	"testing"
)

// Filters that would take long to translate, to compile or to judge are refused, where
// they exceed the bound, and nothing is built from the remaining text.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		one, says string
		ok        int // the largest number that is accepted
	}{
		"conditions": {"n = 1 OR ", "more than 4096 bytes", 180},
		"constants":  {"TRUE AND ", "more than 4096 bytes", 900},
		"intervals":  {"T_OVERLAPS(INTERVAL(t, t), INTERVAL(t, t)) OR ", "more than 4096 bytes", 5},
		"areas":      {"S_INTERSECTS(geometry, POINT(1 2)) OR ", "more than 64 areas", 64},
		"apart":      {"(n = 1 OR S_INTERSECTS(geometry, POINT(1 2))) AND ", "more than 64 areas", 64},
	} {
		if _, err := Parse(strings.Repeat(c.one, c.ok)+"TRUE", any1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		many := strings.Repeat(c.one, (MaxBytes-8)/len(c.one)) + "TRUE"
		_, err := Parse(many, any1)
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(bad.Message, c.says) || bad.Column < len(c.one)*c.ok || bad.Column > 20*len(c.one)*c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	times := "t IN (DATE('2024-05-01')" + strings.Repeat(", DATE('2024-05-01')", 1500) + ")"
	if _, err := Parse(times, any1); err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
		t.Errorf("a list of times: %v", err)
	}
}
