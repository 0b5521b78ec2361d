package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// merged is RFC 7396 as it is written there.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, v := range p {
		if v == nil {
			delete(t, name)
		} else {
			t[name] = merged(t[name], v)
		}
	}
	return t
}

func decoded(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return v, d.Decode(&v)
}

// FuzzPatch: a patch of any bytes is refused, or does what RFC 7396 says.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":[1,null]}}`), []byte(`{"a":null,"b":{"c":null,"d":{"e":null,"f":1}},"x":"y"}`))
	f.Add([]byte(`null`), []byte(`{"a":{"b":{"c":null}}}`))
	f.Add([]byte(``), []byte(` {"a" : [{"b":null}] } `))
	f.Add([]byte(`{"a":[]}`), []byte(`{"a":{"b":1},"a":{"c":2}}`))
	f.Fuzz(func(t *testing.T, target, patch []byte) {
		if len(bytes.TrimSpace(target)) > 0 && !json.Valid(target) {
			return // Properties are checked when they come.
		}
		p, err := parsePatch(patch)
		if err != nil {
			return
		}
		b, err := p.apply(target)
		if err != nil {
			return
		}
		got, err := decoded(b)
		if err != nil {
			t.Fatalf("%q patched by %q is %q: %v", target, patch, b, err)
		}
		var old any
		if len(bytes.TrimSpace(target)) > 0 {
			old, _ = decoded(target)
		}
		change, err := decoded(patch)
		if err != nil {
			t.Fatal(err)
		}
		if want := merged(old, change); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q patched by %q is %q, want %v", target, patch, b, want)
		}
	})
}

// TestDeepPatch: a patch of many levels is refused before it takes long: it is
// applied while all writes wait.
func TestDeepPatch(t *testing.T) {
	nested := func(levels int) []byte {
		return []byte(strings.Repeat(`{"a":`, levels) + `{"a":1}` + strings.Repeat(`}`, levels))
	}
	// Properties nest up to 64 levels. 9,000 took 12 s here.
	for levels, want := range map[int]error{63: nil, 64: ErrFeature, 9000: ErrFeature} {
		p, err := parsePatch(nested(levels))
		if err == nil {
			_, err = p.apply(nested(levels))
		} else if p != nil {
			t.Errorf("%d levels are taken", levels)
		}
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%d levels: %v, want %v", levels, err, want)
		}
	}
}
