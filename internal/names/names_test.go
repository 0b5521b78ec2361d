package names

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheck(t *testing.T) {
	long := strings.Repeat("x", MaxBytes)
	for _, name := range []string{"cafes", "Cafés", "...", ".a", "a.b", "eu-west:1", "喫茶店", "\uFFFD", long, "a*"} {
		if err := Check(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", long + "x", "\xff", "a\xff", "é\xc3", ".", "..", "a/b", "/", "a b", "\u00a0", "a\u2028b", "\n", "a\x00",
		"\x7f", "\u0085", strings.Repeat("é", MaxBytes/2) + "x",
	} {
		err := Check(name)
		if !errors.Is(err, ErrName) || !utf8.ValidString(err.Error()) || len(err.Error()) > 800 {
			t.Errorf("%q: %v", name, err)
		}
		if (CheckLength(name) != nil) != (name == "" || len(name) > MaxBytes) {
			t.Errorf("length of %q: %v", name, CheckLength(name))
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for _, p := range []string{"*", "cafes", "osm-*", ".*", "..*", strings.Repeat("x", MaxBytes) + "*"} {
		if err := CheckPattern(p); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []string{"", ".", "..", "a b", "a/*", "\xff*", strings.Repeat("x", MaxBytes+1) + "*"} {
		if err := CheckPattern(p); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestText(t *testing.T) {
	for name, want := range map[string]string{"Cafés": "Cafés", "\xff": `"\xff"`, "a\xffb": `"a\xffb"`, "..": ".."} {
		if got := Text(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
