package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/cuckoo"
	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/readtest"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	indexBytes  = 16 << 20
	recordBytes = 32 << 20
	boot        = 7
	seed        = 3
)

// site is a server's Map, and a client of it.
type site struct {
	m       *kv.Map
	known   *Map
	records []byte // the memory of the records
	dial    func() *Reader
	clock   func() time.Duration
	copies  uint64 // reads for each block
}

func newSite(t testing.TB) *site {
	t.Helper()
	begun := time.Now()
	return newSiteBy(t, func() time.Duration { return time.Since(begun) })
}

// newSiteBy makes a site whose two sides use the same clock.
func newSiteBy(t testing.TB, clock func() time.Duration) *site {
	t.Helper()
	srv := readtest.Serve(t, indexBytes+recordBytes)
	mem := srv.Bytes()
	s := &site{clock: clock, records: mem[indexBytes:], copies: srv.Copies()}
	var err error
	s.m, err = kv.New(kv.Options{Index: mem[:indexBytes], Records: s.records, Boot: boot, Seed: seed, Now: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	s.known = &Map{
		Table: &table.Table{Base: srv.Remote(), Bytes: indexBytes, BootID: boot},
		Seed:  seed, Space: s.m.Space(), Records: srv.Remote().At(indexBytes), Block: 4096,
	}
	s.dial = func() *Reader { return NewReader(srv.Dial(4096, 32), s.clock, s.clock) }
	return s
}

func key(i int) []byte { return []byte(fmt.Sprintf("key %d", i)) }

// A client finds the server's records, in two round trips and three reads.
func TestGet(t *testing.T) {
	s := newSite(t)
	r := s.dial()
	const keys = 20_000
	for i := range keys {
		value := binary.LittleEndian.AppendUint64(nil, uint64(i))
		if _, err := s.m.Put(kv.Entry{Key: key(i), Value: append(value, make([]byte, i%600)...)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for s.m.Tidy(1000) && s.m.Stats().Index.Growing {
	}
	reads, trips := uint64(0), uint64(0)
	for i := range keys {
		a, err := r.Get(t.Context(), s.known, key(i))
		if err != nil || a.Err != nil {
			t.Fatalf("key %d: %v, %v", i, err, a.Err)
		}
		if n := binary.LittleEndian.Uint64(a.View.Value); n != uint64(i) || len(a.View.Value) != 8+i%600 || a.Ref == 0 {
			t.Fatalf("key %d: value of %d, %d bytes", i, n, len(a.View.Value))
		}
		reads += r.Stats().Reads
		trips += r.Stats().RoundTrips
	}
	if reads > s.copies*(3*keys+keys/50) || trips > 2*keys+keys/50 {
		t.Errorf("%d keys took %d reads, %d round trips", keys, reads, trips)
	}
	for i := keys; i < keys+1000; i++ {
		a, err := r.Get(t.Context(), s.known, key(i))
		if err != nil || !errors.Is(a.Err, kv.ErrNotFound) {
			t.Fatalf("key %d, which there is not: %v, %v", i, err, a.Err)
		}
	}
	// Many at once take as many round trips as one.
	var all [][]byte
	for i := range 256 {
		all = append(all, key(i*37))
	}
	answers := make([]Answer, len(all))
	if err := r.GetMany(t.Context(), s.known, all, answers); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil || binary.LittleEndian.Uint64(a.View.Value) != uint64(i*37) {
			t.Fatalf("key %d of many: %v", i, a.Err)
		}
	}
	if n := r.Stats().RoundTrips; n > 4 {
		t.Errorf("256 keys took %d round trips", n)
	}
}

// The answer says so if a record does not fit a block, has expired, or is long.
func TestGetReportsLargeLongExpired(t *testing.T) {
	s := newSite(t)
	r := s.dial()
	for name, e := range map[string]kv.Entry{
		"large":   {Key: []byte("large"), Value: make([]byte, 10_000)},
		"long":    {Key: []byte("long"), Value: make([]byte, 1<<20)},
		"expired": {Key: []byte("expired"), Expiry: 1},
	} {
		if _, err := s.m.Put(e, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		want := ErrTooLarge
		if name == "expired" {
			want = kv.ErrNotFound
		}
		if a, err := r.Get(t.Context(), s.known, e.Key); err != nil || !errors.Is(a.Err, want) {
			t.Errorf("%s: %v, %v, want %v", name, err, a.Err, want)
		}
	}
}

// Beside writers, deletions, and a table that grows, a client sees every write that was
// acknowledged before it asked, and no value of another key, by lookups and by kept
// references.
func TestGetBesideWriters(t *testing.T) {
	s := newSite(t)
	const keys = 300
	type ack struct{ writes, deletes atomic.Uint64 }
	var acked [keys]ack
	var last, good, bad atomic.Int64
	store := func(e kv.Entry) {
		_, err := s.m.Put(e, kv.Condition{})
		for ; errors.Is(err, record.ErrFull); _, err = s.m.Put(e, kv.Condition{}) {
			runtime.Gosched() // until places of the last second's dead are free
		}
		if err != nil {
			t.Error(err)
		}
	}
	put := func(i int, n uint64) {
		value := binary.LittleEndian.AppendUint64(nil, n)
		value = binary.LittleEndian.AppendUint64(value, uint64(i))
		store(kv.Entry{Key: key(i), Value: append(value, make([]byte, n%400)...)})
		acked[i].writes.Store(n)
		last.Store(int64(i))
	}
	for i := range keys {
		put(i, 1)
	}
	readers := []*Reader{s.dial(), s.dial()}
	var done atomic.Bool
	var group, writer sync.WaitGroup
	for k, r := range readers {
		group.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(k), 1))
			var kept [keys]Kept
			var answer [1]Answer
			for found := 0; !done.Load() || found < 100; {
				i := rnd.IntN(keys)
				if rnd.IntN(2) == 0 {
					i = int(last.Load()) // written just now
				}
				least, deleted := acked[i].writes.Load(), acked[i].deletes.Load()
				err := r.GetKept(t.Context(), s.known, [][]byte{key(i)}, kept[i:i+1], answer[:])
				a := answer[0]
				if a.Kept {
					good.Add(1)
				} else {
					kept[i] = Kept{a.Ref, a.Until}
				}
				if a.Invalid {
					bad.Add(1)
				}
				switch {
				case errors.Is(err, offload.ErrTorn), errors.Is(a.Err, ErrUnsettled):
					// A writer lost its processor, or writes all the time.
				case errors.Is(a.Err, ErrTooLarge) && a.View.Blocks() > 0:
					// The heap had no place left for it as a whole.
				case err != nil:
					t.Error(err)
					return
				case errors.Is(a.Err, kv.ErrNotFound):
					if acked[i].deletes.Load() == 0 && deleted == 0 {
						t.Errorf("key %d was not found", i)
						return
					}
				case a.Err != nil:
					t.Error(a.Err)
					return
				default:
					found++
					if got, of := binary.LittleEndian.Uint64(a.View.Value), binary.LittleEndian.Uint64(a.View.Value[8:]); got < least || of != uint64(i) {
						t.Errorf("key %d: write %d of key %d, %d was acknowledged", i, got, of, least)
						return
					}
				}
			}
		})
	}
	writer.Go(func() {
		rnd := rand.New(rand.NewPCG(9, 9))
		for n := uint64(2); n < 30_000; n++ {
			i := rnd.IntN(keys)
			if i%3 == 0 && rnd.IntN(4) == 0 {
				acked[i].deletes.Add(1) // from now on it may be deleted
				_ = s.m.Delete(key(i), kv.Condition{})
			}
			put(i, n)
			// New keys make the table grow.
			store(kv.Entry{Key: key(int(n) + keys)})
		}
		// Readers may not have run yet.
		for n := uint64(30_000); (good.Load() == 0 || bad.Load() == 0) && !t.Failed(); n++ {
			put(0, n)
			runtime.Gosched()
		}
	})
	writer.Wait()
	done.Store(true)
	group.Wait()
	if st := s.m.Stats(); st.Index.Grown == 0 {
		t.Error("the table did not grow")
	}
	if good.Load() == 0 || bad.Load() == 0 {
		t.Errorf("%d kept references were good, %d were not", good.Load(), bad.Load())
	}
}

// Hostile memory ends in errors.
func TestHostileMemory(t *testing.T) {
	s := newSite(t)
	r := s.dial()
	other := *s.known
	other.Table = &table.Table{Base: s.known.Table.Base, Bytes: indexBytes, BootID: boot + 1}
	if _, err := r.Get(t.Context(), &other, key(1)); !errors.Is(err, table.ErrServerChanged) {
		t.Errorf("another boot id: %v", err)
	}
	other.Table = &table.Table{Base: s.known.Records, Bytes: indexBytes, BootID: boot}
	if _, err := r.Get(t.Context(), &other, key(1)); !errors.Is(err, cuckoo.ErrLayout) && !errors.Is(err, offload.ErrTorn) {
		t.Errorf("records in place of the index: %v", err)
	}
}
