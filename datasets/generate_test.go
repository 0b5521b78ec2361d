package datasets

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// hashOf is FNV-1a over the bits of every coordinate and id.
func hashOf(t *testing.T, s *Source) uint64 {
	t.Helper()
	h := fnv.New64a()
	var b [40]byte
	err := s.Items(func(it rstar.Item) bool {
		littleEndian.encode(b[:], it.Rect)
		binary.LittleEndian.PutUint64(b[32:], it.ID)
		h.Write(b[:])
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return h.Sum64()
}

// fromFunc returns a source of n rectangles of a sequence.
func fromFunc(next func() rstar.Rect, n int) *Source {
	items := make([]rstar.Item, n)
	for i := range items {
		items[i] = rstar.Item{Rect: next(), ID: uint64(i)}
	}
	return FromItems("test", items)
}

func queries(t testing.TB, scale Scale, seed, number uint64) func() rstar.Rect {
	t.Helper()
	next, err := Queries(scale, unitSquare, seed, number)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// all returns a function that returns the rectangles of seq in order, and then
// empty ones.
func all(seq iter.Seq[rstar.Rect]) func() rstar.Rect {
	rects := slices.Collect(seq)
	return func() (r rstar.Rect) {
		if len(rects) > 0 {
			r, rects = rects[0], rects[1:]
		}
		return r
	}
}

// The hashes pin the output of each generator on every platform. They were
// taken from the first version; a change here changes the data with which
// every recorded measurement was made, and needs a reason.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		src  *Source
		want uint64
	}{
		{"uniform", Uniform(10_000, 1), 0x02dbb6c01f5df79f},
		{"uniform other seed", Uniform(10_000, 2), 0x0061c0946bc24169},
		{"skewed inserts", fromFunc(must(SkewedInserts(ScalePower, 1, 7)), 10_000), 0x4b4eb01535b6572d},
		{"uniform stream", fromFunc(UniformRects(1, 7), 10_000), 0x2533d2778e56cafe},
		{"skewed", Skewed(10_000, 1), 0x30e15bd2a93a91b1},
		{"rea02-like", Rea02Like(100_000, 1), 0x0093d55302300b75},
		{"small", fromFunc(queries(t, ScaleSmall, 1, 0), 10_000), 0x00a99c68e03c8cd8},
		{"large", fromFunc(queries(t, ScaleLarge, 1, 0), 10_000), 0x42246661325c79b9},
		{"power", fromFunc(queries(t, ScalePower, 1, 0), 10_000), 0x57deb597500120dd},
		{"QR2", fromFunc(all(QR2.Queries(collect(t, Rea02Like(20_000, 1)))), 200), 0xf6cc1b00077ad658},
	} {
		if got := hashOf(t, c.src); got != c.want {
			t.Errorf("%s: hash %#016x, want %#016x", c.name, got, c.want)
		}
	}
}

// The roots of the power laws, raised by pow100, give the bounds back.
func TestPowerLawConstants(t *testing.T) {
	for _, c := range []struct{ root, bound float64 }{
		{scaleLaw.rootLo, scaleLaw.lo}, {scaleLaw.rootHi, scaleLaw.hi},
		{skewLaw.rootLo, skewLaw.lo}, {skewLaw.rootHi, skewLaw.hi},
	} {
		// 100 half-ulps of the root and 8 of the products.
		if got := pow100(c.root); math.Abs(got/c.bound-1) > 108*0x1p-53 {
			t.Errorf("pow100(%v) = %v, want %v", c.root, got, c.bound)
		}
	}
}

// A power law's distribution function, at the quartiles: the share of
// draws below t is (t^0.01-lo^0.01)/(hi^0.01-lo^0.01).
func TestPowerLawDistribution(t *testing.T) {
	const n = 200_000
	for _, law := range []powerLaw{scaleLaw, skewLaw} {
		s := newStream(3, purposeQueries, 0)
		var below [3]int
		for range n {
			v := law.draw(s)
			if !(v > law.lo && v <= law.hi) {
				t.Fatalf("%v is outside (%v, %v]", v, law.lo, law.hi)
			}
			for i := range below {
				u := float64(i+1) / 4
				lo, hi := math.Pow(law.lo, 0.01), math.Pow(law.hi, 0.01)
				if v <= math.Pow(lo+u*(hi-lo), 100) {
					below[i]++
				}
			}
		}
		for i, got := range below {
			// 5 sigma of a binomial share is at most 0.0056.
			want := float64(i+1) / 4
			if share := float64(got) / n; math.Abs(share-want) > 0.0056 {
				t.Errorf("(%v, %v]: share %v below quantile %v", law.lo, law.hi, share, want)
			}
		}
	}
}

func TestPowerLawEnds(t *testing.T) {
	// positive() spans [2^-53, 1]; rounding must not leave the interval.
	for _, law := range []powerLaw{scaleLaw, skewLaw} {
		for _, u := range []float64{0x1p-53, 1} {
			v := pow100(law.rootLo + float64(u*(law.rootHi-law.rootLo)))
			v = min(max(v, math.Nextafter(law.lo, law.hi)), law.hi)
			if v <= law.lo || v > law.hi {
				t.Errorf("u = %v gives %v outside (%v, %v]", u, v, law.lo, law.hi)
			}
		}
	}
}

func TestUniformDistribution(t *testing.T) {
	const n = 100_000
	var cx, cy, w, h float64
	next := UniformRects(5, 0)
	for range n {
		r := next()
		if err := r.Validate(); err != nil || !unitSquare.Contains(r) {
			t.Fatal(r, err)
		}
		rw, rh := r.MaxX-r.MinX, r.MaxY-r.MinY
		// The edge is the difference of two rounded coordinates.
		if rw > MaxEdge+0x1p-53 || rh > MaxEdge+0x1p-53 {
			t.Fatalf("edges %v, %v exceed %v", rw, rh, MaxEdge)
		}
		cx, cy, w, h = cx+r.MinX, cy+r.MinY, w+rw, h+rh
	}
	// The mean of n uniform numbers on [0, 1] has sigma 0.29/sqrt(n).
	const tolerance = 5 * 0.29 / 316
	for _, m := range []float64{cx / n, cy / n, w / n / MaxEdge, h / n / MaxEdge} {
		if math.Abs(m-0.5) > tolerance {
			t.Errorf("means %v %v %v %v, want halves", cx/n, cy/n, w/n/MaxEdge, h/n/MaxEdge)
			break
		}
	}
}

// Skewed: four equal quadrants; within one, denser towards the centre.
func TestSkewedDistribution(t *testing.T) {
	const n = 100_000
	var quadrants [4]int
	inner := 0
	next := must(SkewedInserts(Scale{edge: MaxEdge}, 5, 0))
	same := SkewedRects(5, 0)
	for range n {
		r := next()
		if err := r.Validate(); err != nil || !unitSquare.Contains(r) || r != same() {
			t.Fatal(r, err)
		}
		q := 0
		x, y := r.MaxX, r.MaxY // the corner that follows the law
		if r.MinX+r.MaxX < 1 {
			q, x = 1, 1-r.MinX
		}
		if r.MinY+r.MaxY < 1 {
			q, y = q|2, 1-r.MinY
		}
		if x < 0.5 || y < 0.5 {
			t.Fatalf("%v reaches across the centre", r)
		}
		quadrants[q]++
		if x < 0.75 {
			inner++
		}
	}
	for q, got := range quadrants {
		if math.Abs(float64(got)/n-0.25) > 5*0.44/316 {
			t.Errorf("quadrant %d has %d of %d", q, got, n)
		}
	}
	want := (math.Pow(0.75, 0.01) - math.Pow(0.5, 0.01)) / (1 - math.Pow(0.5, 0.01))
	if got := float64(inner) / n; math.Abs(got-want) > 5*0.5/316 {
		t.Errorf("share of the inner half %v, want %v", got, want)
	}
}

// Inserts as large as the square stay within it, whatever the scale.
func TestSkewedInserts(t *testing.T) {
	for _, s := range []Scale{ScaleSmall, ScaleLarge, ScalePower, {edge: 1}} {
		next, longest := must(SkewedInserts(s, 5, 0)), 0.0
		for range 10_000 {
			r := next()
			if err := r.Validate(); err != nil || !unitSquare.Contains(r) {
				t.Fatal(s, r, err)
			}
			longest = max(longest, r.MaxX-r.MinX)
		}
		edge := s.edge
		if s.power {
			edge = scaleLaw.hi
		}
		if longest < 0.95*edge || longest > edge+0x1p-53 {
			t.Errorf("%v: the longest edge is %v, want nearly %v", s, longest, edge)
		}
	}
	if _, err := SkewedInserts(Scale{}, 1, 1); !errors.Is(err, ErrOption) {
		t.Errorf("the zero scale: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestQueries(t *testing.T) {
	bounds := rstar.Rect{MinX: -124, MinY: 32, MaxX: -114, MaxY: 42}
	for _, c := range []struct {
		scale Scale
		edge  float64 // largest, as a share of the bounds
		mean  float64
	}{
		{ScaleSmall, 1e-5, 0.5e-5},
		{ScaleLarge, 1e-2, 0.5e-2},
		// Half the mean of the law: 0.01/1.01 * (b^1.01-a^1.01)/(b^.01-a^.01).
		{ScalePower, 1e-2, 0.5 * 0.01 / 1.01 *
			(math.Pow(1e-2, 1.01) - math.Pow(1e-5, 1.01)) /
			(math.Pow(1e-2, 0.01) - math.Pow(1e-5, 0.01))},
	} {
		next, err := Queries(c.scale, bounds, 9, 1)
		if err != nil {
			t.Fatal(err)
		}
		const n = 100_000
		sum := 0.0
		for range n {
			q := next()
			w, h := (q.MaxX-q.MinX)/10, (q.MaxY-q.MinY)/10
			if err := q.Validate(); err != nil || !bounds.Contains(q) ||
				max(w, h) > c.edge*(1+1e-9) {
				t.Fatal(c.scale, q, err)
			}
			sum += w
		}
		// The law's sigma is twice its mean: 5 sigma of the mean are 4 %.
		if got := sum / n; math.Abs(got/c.mean-1) > 0.04 {
			t.Errorf("%v: mean width %v, want %v", c.scale, got, c.mean)
		}
		if n := testing.AllocsPerRun(100, func() { next() }); n != 0 {
			t.Errorf("%v: %v allocations a query", c.scale, n)
		}
	}
}

func TestStreamsDiffer(t *testing.T) {
	first := map[rstar.Rect]string{}
	for name, next := range map[string]func() rstar.Rect{
		"uniform 1/0": UniformRects(1, 0), "uniform 1/1": UniformRects(1, 1),
		"uniform 0/1": UniformRects(0, 1), "skewed 1/0": SkewedRects(1, 0),
		"query 1/0": queries(t, ScaleSmall, 1, 0), "query 1/1": queries(t, ScaleSmall, 1, 1),
	} {
		r := next()
		if other, twice := first[r]; twice {
			t.Errorf("%s starts as %s does", name, other)
		}
		first[r] = name
	}
}
