package features

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/store"
)

// empty measures the memory of a server without features.
func (s *catfishServer) empty() (err error) {
	s.memory.Before, s.heap, err = taken()
	return err
}

// weigh measures the memory of the features.
func (s *catfishServer) weigh(ctx context.Context) error {
	m := &s.memory
	var heap int64
	var err error
	if m.Resident, heap, err = taken(); err != nil {
		return err
	}
	records, tree := s.features.Map().Stats(), s.features.Tree().Stats()
	m.Own = 0
	if err := s.features.Search(ctx, store.Query{}, func(f *store.Found) (bool, error) {
		m.Own += int64(len(f.ID) + len(f.Value))
		return true, nil
	}); err != nil {
		return err
	}
	m.Records = int64(records.Records.UsedBytes)
	m.Free = int64(records.Records.SpanBytes - records.Records.UsedBytes)
	// Smaller tables, before these, were given back.
	m.Keys = int64(records.Index.Buckets) * cuckoo.LineBytes
	m.Tree = tree.UsedBytes
	m.Heap = heap - s.heap
	return nil
}

// taken is the memory of this process, and how much of it is Go's heap in use,
// without garbage.
func taken() (bytes, heap int64, err error) {
	debug.FreeOSMemory()
	var of runtime.MemStats
	runtime.ReadMemStats(&of)
	bytes, err = harness.Resident("self")
	return bytes, int64(of.HeapInuse), err
}
