package main

import (
	"slices"
	"strings"
	"testing"
)

func TestArrange(t *testing.T) {
	g := graph{"top": {"left", "low"}, "left": {"low"}, "right": nil, "low": nil}
	for _, c := range []struct{ levels, want string }{
		{"a: top\nb: left right\nc: low # the last\n", ""},
		{"a: top\nb: low\nc: left right\n", "left (level c) imports low (level b)"},
		{"a: top left right\nc: low\n", "top (level a) imports left (level a)"},
		{"a: top\nb: left\nc: low\n", "right is on no level"},
		{"a: top\nb: left right gone\nc: low\n", "no such package"},
		{"a: top\nb: left right top\nc: low\n", "top is on two levels"},
	} {
		_, err := g.arrange(c.levels)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("levels %q: error %v, want %q", c.levels, err, c.want)
		}
	}
}

func TestReducedAndHeights(t *testing.T) {
	g := graph{"top": {"left", "low"}, "left": {"low"}, "low": nil}
	if got := g.reduced()["top"]; !slices.Equal(got, []string{"left"}) {
		t.Errorf("top imports %v in the drawing, want left alone", got)
	}
	rows := g.heights()
	if len(rows) != 3 || rows[0].pkgs[0] != "top" || rows[2].pkgs[0] != "low" {
		t.Errorf("levels %v, want top, left, low", rows)
	}
}
