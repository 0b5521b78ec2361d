package ycsb

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/big"
	"testing"
)

// near compares with package math, which is accurate to about one unit in the
// last place.
func near(t *testing.T, what string, x, got, want, scale float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 8*0x1p-53*scale) {
		t.Errorf("%s(%v) = %v, want %v", what, x, got, want)
	}
}

func TestExpLog(t *testing.T) {
	r := NewRandom(1, 0)
	for range 100_000 {
		x := exp(1400*r.positive() - 700)
		near(t, "log", x, log(x), math.Log(x), max(1e-3, math.Abs(math.Log(x))))
		y := 60*r.positive() - 30
		near(t, "exp", y, exp(y), math.Exp(y), math.Exp(y))
		for _, v := range []float64{y / 30, y / 3000, y * 1e-12} {
			near(t, "expm1Over", v, expm1Over(v), math.Expm1(v)/v, math.Expm1(v)/v)
			if v > -1 {
				near(t, "log1pOver", v, log1pOver(v), math.Log1p(v)/v, math.Log1p(v)/v)
			}
		}
	}
	if expm1Over(0) != 1 || log1pOver(0) != 1 || log(1) != 0 || exp(0) != 1 {
		t.Error("at 0 and 1:", expm1Over(0), log1pOver(0), log(1), exp(0))
	}
}

// The coefficients equal the formulas in their comments, and the terms left out
// are below 2^-54.
func TestSeries(t *testing.T) {
	factorial := big.NewInt(1)
	n := len(expSeries)
	for i := range n {
		factorial.Mul(factorial, big.NewInt(int64(i+1)))
		want, _ := new(big.Rat).SetFrac(big.NewInt(1), factorial).Float64()
		if got := expSeries[n-1-i]; got != want {
			t.Errorf("expSeries: 1/%d! = %v, want %v", i+1, got, want)
		}
	}
	if rest := math.Pow(math.Ln2/2, float64(n)) / math.Gamma(float64(n+2)); rest > 0x1p-54 {
		t.Errorf("exp: the first term left out is %v", rest)
	}
	n = len(logSeries)
	for i := range n {
		if got, want := logSeries[n-1-i], 1/float64(2*i+1); got != want {
			t.Errorf("logSeries: %v, want %v", got, want)
		}
	}
	z := (math.Sqrt2 - 1) / (math.Sqrt2 + 1)
	if rest := math.Pow(z, float64(2*n)) / float64(2*n+1); rest > 0x1p-54 {
		t.Errorf("log: the first term left out is %v", rest)
	}
	if hi, lo := ln2Hi, ln2Lo; hi+lo != math.Ln2 || math.Float64bits(hi)<<44 != 0 {
		t.Error("the parts of ln 2")
	}
}

// Draws are rounded to ranks, which hides a different last bit. So the bits
// themselves are pinned; they are the same on machines that fuse products and
// sums (arm64) and on others.
func TestGoldenMath(t *testing.T) {
	h, r := fnv.New64a(), NewRandom(1, 0)
	for range 10_000 {
		x := float64(40 * r.positive())
		z := zipf(t, 60_000_000, x/20)
		for _, v := range []float64{
			exp(x - 20), log(x), expm1Over(x/60 - 0.3), log1pOver(x/80 - 0.2),
			z.first, z.last, z.accepted, z.inverse(z.first + float64(x/40*(z.last-z.first))),
		} {
			_ = binary.Write(h, binary.LittleEndian, v)
		}
	}
	if got := h.Sum64(); got != 0x262681f7230f3a06 {
		t.Errorf("hash %#016x", got)
	}
}
