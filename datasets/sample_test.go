package datasets

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

func TestScale(t *testing.T) {
	for _, text := range []string{"1e-05", "0.01", "power", "1"} {
		s, err := ParseScale(text)
		if err != nil || s.String() != text {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	small, err := ParseScale("1e-5")
	if err != nil || small != ScaleSmall {
		t.Errorf("1e-5: %v, %v", small, err)
	}
	for _, text := range []string{"", "0", "-1", "1.01", "NaN", "Inf", "powers"} {
		if _, err := ParseScale(text); !errors.Is(err, ErrOption) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestQueryErrors(t *testing.T) {
	wide := math.MaxFloat64
	for _, c := range []struct {
		scale  Scale
		bounds rstar.Rect
		kind   error
	}{
		{Scale{}, unitSquare, ErrOption},
		{ScaleSmall, rect(1, 0, 0, 1), rstar.ErrBadRect},
		{ScaleSmall, rect(-wide, 0, wide, 1), rstar.ErrBadRect},
	} {
		if _, err := Queries(c.scale, c.bounds, 1, 0); !errors.Is(err, c.kind) {
			t.Errorf("%v on %v: %v, want %v", c.scale, c.bounds, err, c.kind)
		}
	}
	// Bounds of zero extent are allowed: all objects on one point.
	next, err := Queries(ScaleLarge, rect(2, 3, 2, 3), 1, 0)
	if err != nil || next() != rect(2, 3, 2, 3) {
		t.Error("no queries on a point:", err)
	}
}

func TestShuffle(t *testing.T) {
	items := collect(t, Uniform(1000, 1))
	a, b, c := slices.Clone(items), slices.Clone(items), slices.Clone(items)
	Shuffle(a, 1)
	Shuffle(b, 1)
	Shuffle(c, 2)
	if !slices.Equal(a, b) || slices.Equal(a, c) || slices.Equal(a, items) {
		t.Error("the order does not follow from the seed")
	}
	slices.SortFunc(a, func(x, y rstar.Item) int { return int(x.ID) - int(y.ID) })
	if !slices.Equal(a, items) {
		t.Error("items lost")
	}
}

// Each item is as likely as any other to be in a sample.
func TestSample(t *testing.T) {
	src := Uniform(100, 1)
	var hits [100]int
	const rounds = 10_000
	for seed := range uint64(rounds) {
		kept, err := Sample(src, 10, seed)
		if err != nil || len(kept) != 10 {
			t.Fatal(len(kept), err)
		}
		for _, it := range kept {
			hits[it.ID]++
		}
	}
	for id, n := range hits { // binomial: mean 1000, sigma 30
		if n < 850 || n > 1150 {
			t.Errorf("item %d is in %d of %d samples, want about %d", id, n, rounds, rounds/10)
		}
	}
	if all, err := Sample(src, 200, 1); err != nil || len(all) != 100 {
		t.Error(len(all), err)
	}
	if none, err := Sample(src, 0, 1); err != nil || len(none) != 0 {
		t.Error(len(none), err)
	}
}

// failAfter is a writer that accepts n bytes.
type failAfter struct{ n int }

func (w *failAfter) Write(b []byte) (int, error) {
	if len(b) > w.n {
		return w.n, io.ErrShortWrite
	}
	w.n -= len(b)
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	if _, err := Write(io.Discard, GeoJSON, Uniform(1, 1)); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	for _, room := range []int{10, bufferBytes} {
		if _, err := Write(&failAfter{room}, CSV, Uniform(10_000, 1)); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("room for %d: %v", room, err)
		}
	}
	bad := FromItems("bad", []rstar.Item{{}, {Rect: rect(1, 0, 0, 0)}})
	if n, err := Write(io.Discard, Rec, bad); n != 1 || !errors.Is(err, rstar.ErrBadRect) {
		t.Error(n, err)
	}
}

// Progress grows with the pass, and Items can be called again, even from
// within itself.
func TestPasses(t *testing.T) {
	for _, spec := range []string{"uniform", "rea02-like", "testdata/andorra.osm.pbf"} {
		s := open(t, spec, Options{})
		n, last := 0, int64(0)
		err := s.Items(func(rstar.Item) bool {
			done, total, _ := s.Progress()
			if done < last || done > total {
				t.Fatalf("%s: progress %d after %d of %d", spec, done, last, total)
			}
			n, last = n+1, done
			return n < 100_000
		})
		if err != nil || last == 0 {
			t.Errorf("%s: progress %d after %d items, %v", spec, last, n, err)
		}
	}
	s := Uniform(100, 1)
	inner := 0
	err := s.Items(func(rstar.Item) bool {
		_ = s.Items(func(rstar.Item) bool { inner++; return true })
		return true
	})
	if err != nil || inner != 10_000 {
		t.Errorf("%d items within, %v", inner, err)
	}
}

func TestBounds(t *testing.T) {
	r, n, err := Bounds(FromItems("two", []rstar.Item{{Rect: rect(5, 6, 7, 8)}, {Rect: rect(6, 1, 6, 2)}}))
	if r != rect(5, 1, 7, 8) || n != 2 || err != nil {
		t.Error(r, n, err)
	}
	known, ok := Rea02Like(10, 1).Bounds()
	if got, _, err := Bounds(Rea02Like(10, 1)); !ok || !known.Contains(got) || err != nil {
		t.Error(known, ok, got, err)
	}
}

func TestLongValuesAreCut(t *testing.T) {
	if got := input.Quote(fmt.Sprintf("%1000d", 1)); len(got) > 60 {
		t.Errorf("a value of 1000 bytes is quoted in %d", len(got))
	}
}
