package cql2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

// testdata/cel.txt has filters, and conditions in CEL that are true of the same features.
// The tree of a filter and CEL agree on random features.
func TestEqualToCEL(t *testing.T) {
	lines, err := os.ReadFile("testdata/cel.txt")
	if err != nil {
		t.Fatal(err)
	}
	features := randomFeatures(t, 400)
	n := 0
	for line := range strings.Lines(string(lines)) {
		quoted, want, _ := strings.Cut(strings.TrimSpace(line), "\t")
		text, _ := strconv.Unquote(quoted)
		want, err := strconv.Unquote(want)
		if err != nil {
			t.Fatal(line, err)
		}
		n++
		if err := equalToCEL(text, want, any1, features); err != nil {
			t.Error(err)
		}
	}
	if n < 700 {
		t.Errorf("%d filters", n)
	}
}

// equalToCEL compares a filter and a condition in CEL.
func equalToCEL(text, condition string, has Properties, features []*store.Found) error {
	e, err := Parse(text, has)
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	byTree := store.Query{Where: e.Where}
	byCEL := store.Query{Filter: condition}
	a, err := byTree.Prepare(feature.Geographic, filters)
	if err != nil {
		return err
	}
	b, err := byCEL.Prepare(feature.Geographic, filters)
	if err != nil {
		return fmt.Errorf("%s: %w", condition, err)
	}
	for _, f := range features {
		if strings.Contains(text, "A_") && bytes.Contains(f.View.Properties(), []byte(`:""`)) {
			continue // CEL's macros take an empty text for an empty list.
		}
		got, err := a.Match(f)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		want, err := b.Match(f)
		if err != nil {
			return fmt.Errorf("%s: %w", condition, err)
		}
		if got != want {
			return fmt.Errorf("%s of %s: %v, but %v is %s", text, f.View.Properties(), got, want, condition)
		}
	}
	return nil
}

// randomFeatures have properties of the names that testdata/cel.txt and TestPaths use.
func randomFeatures(t *testing.T, n int) (all []*store.Found) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	names := strings.Fields("a b c x t n kind seats min open big price t2 tags addr addr:city fuel.octane a.b a.b.c b.c a.c pool city floors at")
	scalars := []string{
		`null`, `true`, `false`, `0`, `1`, `5`, `24`, `2.5`, `-1`, `1.0`, `9007199254740992`, `9007199254740993`, `9007199254740992.0`, `1e300`, `18446744073709551615`,
		`""`, `"x"`, `"X"`, `"xy"`, `"XzzY"`, `"Graz"`, `"cafe"`, `"bar"`, `"\u00dfx"`, `"2024-05-01"`, `"2024-05-02"`, `"2024-05-01T12:00:00Z"`, `"2024-05-01T14:00:00+02:00"`,
		`"0000-01-01"`, `"2024-13-01"`, `"\u00e9234567890"`, `"a.b\\c\nd"`,
	}
	var value func(depth int) string
	value = func(depth int) string {
		members := make([]string, r.IntN(4))
		switch k := r.IntN(6); {
		case depth > 0 && k == 0:
			for i := range members {
				members[i] = value(depth - 1)
			}
			return "[" + strings.Join(members, ",") + "]"
		case depth > 0 && k < 3:
			for i := range members {
				members[i] = strconv.Quote([]string{"b", "c", "d", "city", "x", "a"}[r.IntN(6)]) + ":" + value(depth-1)
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		return scalars[r.IntN(len(scalars))]
	}
	for i := range n {
		var members []string
		for _, name := range names {
			if r.IntN(4) > 0 {
				members = append(members, strconv.Quote(name)+":"+value(3))
			}
		}
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		f := store.Feature{ID: fmt.Sprint(i), Properties: json.RawMessage("{" + strings.Join(members, ",") + "}")}
		if r.IntN(3) > 0 {
			f.Geometry = orb.Point{1, 2}
		}
		all = append(all, foundOf(t, f))
	}
	return all
}
