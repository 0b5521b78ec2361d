package rstar

import (
	"math"
	"testing"
)

// fuzzSetting decodes the first byte of a history, also on machines with
// fewer instruction sets:
//
//	bit     7-4     3-2               1          0
//	        scale   instruction set   portable   strategy
func fuzzSetting(b byte) (setting, func(float64) float64) {
	s := setting{Options{
		NodeBytes: nodeSizes[0], SlabBytes: 1 << 20,
		Strategy: strategies[b&1], PortableStores: b>>1&1 == 1,
	}, isas[int(b>>2&3)%len(isas)]}
	return s, fuzzScales[int(b>>4)%len(fuzzScales)]
}

// fuzzScales are monotone: the answers must be those of scale 0.
var fuzzScales = []func(float64) float64{
	func(x float64) float64 { return x },
	func(x float64) float64 { return math.Ldexp(x, -1066) },
	func(x float64) float64 { return math.Ldexp(x-9, 1019) }, // |x-9| < 16
	func(x float64) float64 { return 5e6 + x/100 },
	func(x float64) float64 { return math.Copysign(math.Ldexp(1, int(100*math.Abs(x-9))-900), x-9) },
}

// FuzzHistory reads bytes as a history and compares every answer with a
// linear scan. The first byte chooses among the settings and the scales. Then
// every two bytes are a step: what to do, and where. Coordinates come from a
// 16*16 grid, so ties and equal rectangles abound.
func FuzzHistory(f *testing.F) {
	long := make([]byte, 400)
	for i := range long {
		long[i] = byte(i * i)
	}
	steps := []string{
		"insert, insert and again insert until nodes overflow twice or so",
		"\x00\x00\x00\x00\x00\x00\x05\x00\x05\x00\x05\x00\x07\x01",
		"\x06\xc8\x05\x01\x05\x02\x05\x03\x04\x04\x04\x05\x07\x88",
		string(long),
	}
	// Each with each scale, most with each setting: a fuzzer begins by
	// running all of them, at a tenth of the speed.
	for first := range byte(16 * len(fuzzScales)) {
		f.Add(append([]byte{first}, steps[(first+first/16)%4]...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		set, scale := fuzzSetting(b[0])
		set.use(t)
		tr, err := New(set.o)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		m := &model{t: t, tr: tr}
		for b = b[1:]; len(b) >= 2; b = b[2:] {
			if len(m.items) > 3000 {
				break // this test is not about the size of the slab
			}
			op, where := b[0], b[1]
			r := box(float64(where>>4), float64(where&15), float64(op>>6), float64(op>>5&1))
			r = Rect{scale(r.MinX), scale(r.MinY), scale(r.MaxX), scale(r.MaxY)}
			switch op & 7 {
			case 0, 1, 2, 3:
				for range 1 + int(op>>3&3) {
					m.insert(r, uint64(where%5))
				}
			case 4:
				if len(m.items) > 0 {
					m.updateAt(int(where)%len(m.items), r)
				}
			case 5:
				if len(m.items) > 0 {
					m.deleteAt(int(where) % len(m.items))
				}
			case 6:
				if len(m.items) == 0 {
					for i := range int(where) {
						m.items = append(m.items, Item{box(scale(float64(i%16)), r.MinY, 0, 0), uint64(i)})
					}
					if err := tr.Load(m.items); err != nil {
						t.Fatal(err)
					}
				}
			case 7:
				sameNearest(t, tr, m.items, r.MinX, r.MinY)
			}
			m.agree(r)
		}
	})
}
