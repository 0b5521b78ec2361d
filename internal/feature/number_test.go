package feature

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// checkNumber compares with encoding/json, and with strconv where encoding/json
// shortens its exponents.
func checkNumber(t *testing.T, f float64) {
	t.Helper()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	want, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		want = strconv.AppendFloat(nil, f, 'e', -1, 64)
	}
	if got := string(appendNumber([]byte("x"), f)); got != "x"+string(want) {
		t.Fatalf("%v: %s, want %s", f, got[1:], want)
	}
}

func TestNumberEdges(t *testing.T) {
	for _, f := range []float64{
		0, 1, 10, 100, 180, 90, 0.1, 0.5, 1e-9, 1e-7, 1e-6, 1.5e-6, 0.000001001, 123456.789012345,
		999999.999999999, 999999.9999999999, 1e6, 1e6 + 1e-9, 1e6 - 1e-9, 1e15, 1e20, 1e21, 1e22,
		0.1 + 0.2, 1.0 / 3, 0.6739876429999999, 179.9999999, 5e-324, math.MaxFloat64, 4.35, 0.000000999999999,
	} {
		for _, g := range []float64{f, math.Nextafter(f, -1), math.Nextafter(f, 1e300)} {
			checkNumber(t, g)
			checkNumber(t, -g)
		}
	}
}

// TestNumberDecimals: numbers as in maps, with 0 to 12 decimals, their neighbours, and
// any.
func TestNumberDecimals(t *testing.T) {
	rng := newRand(7)
	for range 100_000 {
		f := math.Round((rng.Float64()-0.5)*math.Pow10(1+rng.IntN(16))) / math.Pow10(rng.IntN(13))
		checkNumber(t, f)
		checkNumber(t, math.Nextafter(f, 0))
		checkNumber(t, f+float64(rng.IntN(100))*0.337) // with the rounding errors of arithmetic
		checkNumber(t, math.Float64frombits(rng.Uint64()))
	}
}

func FuzzNumber(f *testing.F) {
	for _, x := range []float64{0, -0.000001, 1.5218376, 999999.999999999, 1e6, 0.6739876429999999} {
		f.Add(x)
	}
	f.Fuzz(checkNumber)
}

func BenchmarkNumber(b *testing.B) {
	numbers := map[string]func(*rand.Rand) float64{
		"decimals=7": func(r *rand.Rand) float64 { return math.Round(r.Float64()*1e9) / 1e7 },
		"decimals=9": func(r *rand.Rand) float64 { return math.Round(r.Float64()*1e11) / 1e9 },
		"any":        func(r *rand.Rand) float64 { return r.Float64() * 100 },
	}
	for name, next := range numbers {
		b.Run(name, func(b *testing.B) {
			rng := newRand(3)
			var all [1024]float64
			for i := range all {
				all[i] = next(rng)
			}
			buf := make([]byte, 0, 64)
			i := 0
			for b.Loop() {
				buf = appendNumber(buf[:0], all[i%len(all)])
				i++
			}
		})
	}
}
