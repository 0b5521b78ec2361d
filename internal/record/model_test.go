package record

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestModel: against a map of values, with time passing. Dead records stay readable for
// their grace and leases, and readers find records that moved.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, err := New(Options{Memory: slabOf(24), Boot: testBoot})
		if err != nil {
			t.Fatal(err)
		}
		type state struct {
			ref   Ref
			value []byte
			rev   uint64
		}
		type dead struct {
			state
			key   int
			until time.Duration
		}
		index := map[int]state{}
		leases := map[Ref]time.Duration{}
		var graves []dead
		now, rev := time.Duration(0), uint64(0)
		kill := func(k int) {
			s := index[k]
			if err := h.Kill(s.ref, now); err != nil {
				t.Fatal(err)
			}
			graves = append(graves, dead{s, k, max(now+DefaultGrace, leases[s.ref])})
		}
		var buf []byte
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k := rapid.IntRange(0, 11).Draw(t, "key")
				size := rapid.SampledFrom([]int{0, 10, 32, 80, 300, 3000, 20_000, 65_000, 66_000, 140_000}).Draw(t, "size")
				rev++
				v := someBytes(rev, size)
				ref, err := h.Put(Record{Key: keyOf(k), Value: v, Revision: rev}, now)
				if errors.Is(err, ErrFull) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := index[k]; ok {
					kill(k)
				}
				index[k] = state{ref, v, rev}
			},
			"kill": func(t *rapid.T) {
				k := rapid.IntRange(0, 11).Draw(t, "key")
				if _, ok := index[k]; ok {
					kill(k)
					delete(index, k)
				}
			},
			"grant": func(t *rapid.T) {
				k := rapid.IntRange(0, 11).Draw(t, "key")
				if s, ok := index[k]; ok {
					d := h.Grant(s.ref, now)
					if d < time.Second || d > 64*time.Second {
						t.Fatalf("lease of %v", d)
					}
					leases[s.ref] = max(leases[s.ref], now+d)
				}
			},
			"time": func(t *rapid.T) {
				now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond
			},
			"reclaim": func(t *rapid.T) {
				h.Reclaim(now, rapid.IntRange(0, 50).Draw(t, "most"))
			},
			"compact": func(t *rapid.T) {
				fail := rapid.IntRange(0, 5).Draw(t, "fail")
				h.Compact(now, rapid.IntRange(1, 50).Draw(t, "most"), func(key []byte, from, to Ref) bool {
					if fail--; fail == 0 {
						return false
					}
					for k, s := range index {
						if bytes.Equal(key, keyOf(k)) {
							if s.ref != from {
								t.Fatalf("%s moves from %v, is at %v", key, from, s.ref)
							}
							// The rest of the move is the kill of the old one.
							graves = append(graves, dead{s, k, max(now+DefaultGrace, leases[from])})
							s.ref = to
							index[k] = s
							return true
						}
					}
					t.Fatalf("%s moves and is not there", key)
					return false
				})
			},
			"": func(t *rapid.T) {
				if err := h.check(); err != nil {
					t.Fatal(err)
				}
				if h.Stats().Records != len(index) {
					t.Fatalf("%+v, want %d records", h.Stats(), len(index))
				}
				for k, s := range index {
					v, b, err := h.Read(s.ref, keyOf(k), buf)
					buf = b
					if err != nil || !bytes.Equal(v.Value, s.value) || v.Revision != s.rev {
						t.Fatalf("key %d: %v, revision %d, want %d", k, err, v.Revision, s.rev)
					}
				}
				kept := graves[:0]
				for _, g := range graves {
					v, _, err := h.Read(g.ref, keyOf(g.key), nil)
					switch {
					case errors.Is(err, ErrDead) && bytes.Equal(v.Value, g.value) && v.Revision == g.rev:
					case now < g.until, !errors.Is(err, ErrStale):
						t.Fatalf("dead revision %d, to be kept until %v, at %v: %v", g.rev, g.until, now, err)
					}
					if now < g.until+10*time.Second {
						kept = append(kept, g)
					}
				}
				graves = kept
			},
		})
	})
}
