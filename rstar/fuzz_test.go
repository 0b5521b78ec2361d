package rstar

import "testing"

// FuzzHistory reads bytes as a history and compares every answer with a
// linear scan. Two bytes are a step: what to do, and where. Coordinates
// come from a 16*16 grid, so ties and equal rectangles abound.
func FuzzHistory(f *testing.F) {
	f.Add([]byte("insert, insert and again insert until nodes overflow twice or so"))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 5, 0, 5, 0, 5, 0, 7, 1})
	f.Add([]byte{6, 200, 5, 1, 5, 2, 5, 3, 4, 4, 4, 5, 7, 0x88})
	long := make([]byte, 400)
	for i := range long {
		long[i] = byte(i * i)
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := New(Options{NodeBytes: 704, SlabBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		m := &model{t: t, tr: tr}
		for ; len(b) >= 2; b = b[2:] {
			if len(m.items) > 3000 {
				break // room in the slab is not what this is about
			}
			op, where := b[0], b[1]
			r := box(float64(where>>4), float64(where&15), float64(op>>6), float64(op>>5&1))
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
						m.items = append(m.items, Item{box(float64(i%16), r.MinY, 0, 0), uint64(i)})
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
