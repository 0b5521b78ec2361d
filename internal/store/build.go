package store

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// shards is how many collections a spec makes.
func (s *Spec) shards() int { return max(s.Records.Shards, 1) }

// newEntry returns an entry without data, and its shards.
func (st *Store) newEntry(name string, s *Spec) *Entry {
	e := &Entry{Name: name, Kind: s.Kind, maxBytes: s.Records.MaxBytes, account: s.Account, restored: s.OfClients}
	of, _ := st.spec(name)
	e.loading.Store(s.Loading || of.Loading)
	if n := s.shards(); n > 1 {
		e.Shards = &Shards{Seed: rand.Uint64(), All: []*Entry{e}}
		for i := 1; i < n; i++ {
			shard := name + "/" + strconv.Itoa(i)
			e.Shards.All = append(e.Shards.All, &Entry{Name: shard, Kind: s.Kind, Shards: e.Shards, Shard: i})
		}
	}
	return e
}

// build makes an entry's memory, and the empty data in it.
func (st *Store) build(e *Entry, s *Spec) error {
	if s.Kind == KindRecords && s.Keep {
		kept := &Records{st: st, name: e.Name, o: s.Records, shards: e.Shards}
		for _, p := range e.Parts() {
			p.Kept = kept
		}
	}
	for _, p := range e.Parts() {
		err := st.allocate(p, s)
		switch {
		case err != nil:
		case s.Kind == KindFeatures:
			p.Features, err = newCollection(st, p, s.Features)
		case s.Kind == KindBoxes:
			err = st.buildBoxes(p, s.Keep)
		default:
			err = st.buildRecords(p, s)
		}
		if err != nil {
			e.close()
			return err
		}
	}
	return nil
}

// allocate makes the memory of an entry's parts. Shards share what one collection may
// have.
func (st *Store) allocate(e *Entry, s *Spec) (err error) {
	for p := range parts {
		size := st.o.SlabBytes / int64(s.shards())
		if p != TreePart {
			size = min(size, record.MaxSlabBytes) / record.SpanBytes * record.SpanBytes
		}
		if p == TreePart && s.Kind == KindRecords || p != TreePart && s.Kind == KindBoxes {
			continue
		}
		alloc := st.o.Memory
		if alloc == nil {
			alloc = ownMemory
		}
		if e.Memory[p], err = alloc(e.Name, p, size); err != nil {
			return fmt.Errorf("store: collection %q: memory of its %v: %w", e.Name, p, err)
		}
	}
	return nil
}

func (st *Store) buildBoxes(e *Entry, keep bool) (err error) {
	m := &e.Memory[TreePart]
	e.Tree, err = rstar.New(rstar.Options{
		NodeBytes: st.o.NodeBytes, Memory: m.Bytes, Grow: m.Grow, BootID: st.boot, Strategy: st.o.Strategy,
	})
	if err == nil && keep {
		e.Boxes = &Boxes{st: st, name: e.Name, tree: e.Tree, more: map[rstar.Item]uint64{}}
		if st.o.Replicated || st.owned.Load() != nil {
			st.showOwn(e)
		}
	}
	return err
}

func (st *Store) buildRecords(e *Entry, s *Spec) (err error) {
	m := mapOptions(st, &e.Memory)
	m.Table, m.Items, m.Revision = s.Records.Table, s.Records.Items, firstRevision(st.now())
	m.MaxBytes = s.Records.MaxBytes / int64(s.shards())
	if e.Kept != nil {
		e.Kept.build(e.Shard, &m)
	}
	if e.Records, err = kv.New(m); err == nil && e.Kept != nil {
		e.Kept.maps = append(e.Kept.maps, e.Records)
	}
	return err
}

// mapOptions are those of each map in a collection's memory.
func mapOptions(st *Store, m *[parts]Memory) kv.Options {
	recs, keys := &m[RecordsPart], &m[IndexPart]
	return kv.Options{
		Index: keys.Bytes, GrowIndex: keys.Grow, Records: recs.Bytes, GrowRecords: recs.Grow, GiveBack: recs.GiveBack,
		Boot: rand.Uint64(), Seed: rand.Uint64(), Now: st.now,
	}
}

// firstRevision of a collection that is made now is above any revision of a collection
// made before, unless that one had 3.9 M writes a second all its life. It is exact as
// a float64 until 2043.
func firstRevision(now time.Duration) uint64 { return uint64(now) >> 8 }
