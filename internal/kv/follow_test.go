package kv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// A follower of a Map holds the references that the Map's index holds, after writes,
// writes that fail, compaction and expiry.
func TestFollow(t *testing.T) {
	var c clock
	c.advance(time.Second)
	r := rand.New(rand.NewPCG(1, 2))
	held := map[record.Ref]bool{}
	refuse := errors.New("refused")
	expired := map[string]uint64{}
	moved, writing := 0, false
	m := newMap(t, c.Now, Options{
		Expired: func(key []byte, revision uint64) { expired[string(key)] = revision },
		Follow: func(from, to record.Ref) error {
			if r.IntN(8) == 0 {
				return refuse
			}
			if from != 0 && !held[from] {
				t.Errorf("%v is not held, and becomes %v", from, to)
			}
			if !writing {
				moved++
			}
			delete(held, from)
			if to != 0 {
				held[to] = true
			}
			return nil
		},
	})
	key := func() []byte { return fmt.Append(nil, r.IntN(2000)) }
	want := map[string]uint64{} // revisions
	revision := uint64(100)
	for step := range 60_000 {
		writing = true
		k := key()
		// Sizes change, so that spans become sparse.
		e := Entry{Key: k, Value: make([]byte, r.IntN(64<<(step/10_000)))}
		switch what := r.IntN(10); {
		case what < 4:
			rev, err := m.Put(e, Condition{})
			if err == nil {
				want[string(k)] = rev
			} else if !errors.Is(err, refuse) {
				t.Fatal(err)
			}
			revision = max(revision, rev)
		case what < 7:
			revision += 2
			e.Revision = revision
			if r.IntN(4) == 0 {
				e.Expiry = c.Now() + time.Second
			}
			ref, err := m.Stage(e)
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(4) == 0 {
				if err := m.Discard(ref); err != nil {
					t.Fatal(err)
				}
				break
			}
			if err = m.Publish(k, ref); err == nil {
				want[string(k)] = revision
			} else if !errors.Is(err, refuse) {
				t.Fatal(err)
			}
		case what < 9:
			revision++
			err := m.DeleteAs(k, Condition{}, revision)
			if _, ok := want[string(k)]; err == nil && ok {
				delete(want, string(k))
			} else if !errors.Is(err, refuse) && (ok || !errors.Is(err, ErrNotFound)) {
				t.Fatal(err)
			}
		default:
			writing = false
			c.advance(time.Duration(r.IntN(1000)) * time.Millisecond)
			m.Tidy(200)
		}
	}
	if moved == 0 {
		t.Error("nothing was moved")
	}
	for k, rev := range expired {
		if want[k] == rev {
			if err := m.Delete([]byte(k), Condition{}); err != nil && !errors.Is(err, refuse) {
				t.Fatal(err)
			} else if err == nil {
				delete(want, k)
			}
		}
	}
	if len(held) != m.Len() || len(want) != m.Len() {
		t.Errorf("%d are held, %d in the index, want %d", len(held), m.Len(), len(want))
	}
	if n := m.Stats().Records.Records; n != len(held) {
		t.Errorf("%d records are alive, want those %d that are held", n, len(held))
	}
	var b Buffer
	for ref := range held {
		v, err := m.Read(ref, &b)
		if err != nil {
			t.Fatal(err)
		}
		if want[string(v.Key)] != v.Revision {
			t.Errorf("%q: revision %d, want %d", v.Key, v.Revision, want[string(v.Key)])
		}
	}
}
