package ycsb

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

// law returns the probability of each rank, summed from the small ones.
func law(n int, theta float64) []float64 {
	p, sum := make([]float64, n), 0.0
	for i := n - 1; i >= 0; i-- {
		p[i] = math.Pow(float64(i+1), -theta)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// fits compares counts with probabilities by chi-square. Neighbours are
// combined until 20 are expected of them. Of a sum of squares with d degrees of
// freedom, (x/d)^(1/3) is nearly normal (Wilson and Hilferty 1931): 4 sigma.
// Seeds are fixed, so this fails always or never.
func fits(t *testing.T, name string, counts []int, p []float64) {
	t.Helper()
	draws := 0
	for _, c := range counts {
		draws += c
	}
	var chi, d, got, want float64
	for i := range counts {
		got, want = got+float64(counts[i]), want+p[i]*float64(draws)
		if want >= 20 || i == len(counts)-1 {
			if want > 0 {
				chi += (got - want) * (got - want) / want
			} else if got > 0 {
				t.Errorf("%s: %v draws of what has no probability", name, got)
			}
			d++
			got, want = 0, 0
		}
	}
	d--
	v := 2 / (9 * d)
	if z := (math.Cbrt(chi/d) - (1 - v)) / math.Sqrt(v); !(math.Abs(z) < 4) {
		t.Errorf("%s: chi-square %.0f with %.0f degrees of freedom, %.1f sigma", name, chi, d, z)
	}
}

func zipf(t testing.TB, n uint64, theta float64) *Zipf {
	t.Helper()
	z, err := NewZipf(n, theta)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestZipfLaw(t *testing.T) {
	for _, theta := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1, 1 + 1e-13, 1.01, 1.5, 3} {
		for _, n := range []int{2, 3, 10, 1000, 100_000} {
			z, r, counts := zipf(t, uint64(n), theta), NewRandom(7, uint64(n)), make([]int, n)
			for range 300_000 {
				counts[z.Next(r)]++
			}
			fits(t, fmt.Sprintf("theta %v, %d ranks", theta, n), counts, law(n, theta))
		}
	}
}

// The ends of the law with more ranks than can be counted: the share of the
// first ranks, and of the last half.
func TestZipfLarge(t *testing.T) {
	const n, draws = 60_000_000, 400_000
	for _, theta := range []float64{0, 0.5, 0.99, 1.2} {
		// Sums of k^-theta by the integral from k0 - 1/2, after 1000 terms.
		total := func(to float64) (sum float64) {
			for k := 1.; k <= 1000; k++ {
				sum += math.Pow(k, -theta)
			}
			return sum + (math.Pow(to+0.5, 1-theta)-math.Pow(1000.5, 1-theta))/(1-theta)
		}
		z, r := zipf(t, n, theta), NewRandom(3, 0)
		first, half := 0, 0
		for range draws {
			rank := z.Next(r)
			if rank >= n {
				t.Fatal(rank)
			}
			if rank < 10 {
				first++
			}
			if rank < n/2 {
				half++
			}
		}
		ten := 0.
		for k := 1.; k <= 10; k++ {
			ten += math.Pow(k, -theta)
		}
		for _, c := range []struct {
			what string
			got  int
			p    float64
		}{{"first ten", first, ten / total(n)}, {"first half", half, total(n/2) / total(n)}} {
			sigma := math.Sqrt(draws * c.p * (1 - c.p))
			if math.Abs(float64(c.got)-draws*c.p) > 4*sigma+1 {
				t.Errorf("theta %v: %s %d of %d, want %.1f", theta, c.what, c.got, draws, draws*c.p)
			}
		}
	}
}

func TestZipfBounds(t *testing.T) {
	for _, theta := range []float64{0, 0.99, 1, 2, MaxTheta} {
		for _, n := range []uint64{1, 2, MaxKeys} {
			z, r := zipf(t, n, theta), NewRandom(1, 1)
			for range 1000 {
				if rank := z.Next(r); rank >= n {
					t.Fatalf("theta %v: rank %d of %d", theta, rank, n)
				}
			}
		}
	}
	for _, c := range []struct {
		n     uint64
		theta float64
	}{{0, 1}, {MaxKeys + 1, 1}, {5, -0.1}, {5, MaxTheta + 1}, {5, math.NaN()}, {5, math.Inf(1)}} {
		if _, err := NewZipf(c.n, c.theta); !errors.Is(err, ErrConfig) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A Zipf that has grown draws like one that was large from the start.
func TestZipfGrow(t *testing.T) {
	a, b := zipf(t, 10, 0.99), zipf(t, 1000, 0.99)
	r, s := NewRandom(1, 1), NewRandom(1, 1)
	a.Grow(1000)
	for range 1000 {
		if x, y := a.Next(r), b.Next(s); x != y {
			t.Fatal(x, y)
		}
	}
}

func TestPermutation(t *testing.T) {
	for n := uint64(1); n <= 300; n++ {
		p, seen := newPermutation(n, n), make([]bool, n)
		for i := range n {
			if at := p.at(i); at >= n || seen[at] {
				t.Fatalf("n %d: %d goes to %d", n, i, at)
			} else {
				seen[at] = true
			}
		}
	}
	// Popular keys have no popular neighbours: of the first 1000 ranks of a
	// million, 1000*1000/10^6 are expected next to another one.
	const n = 1_000_000
	p, popular, together := newPermutation(n, 1), map[uint64]bool{}, 0
	for i := range uint64(1000) {
		popular[p.at(i)] = true
	}
	for k := range popular {
		if popular[k+1] {
			together++
		}
	}
	if together > 6 {
		t.Errorf("%d of 1000 popular keys are neighbours", together)
	}
}

func BenchmarkZipf(b *testing.B) {
	z, r := zipf(b, 60_000_000, Theta), NewRandom(1, 0)
	sum := uint64(0)
	for b.Loop() {
		sum += z.Next(r)
	}
	_ = sum
}
