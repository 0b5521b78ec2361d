package features

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/store"
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
	bytes, err = resident()
	return bytes, int64(of.HeapInuse), err
}

// resident is the memory of this process, shared pages included: proc(5),
// statm, the second number.
func resident() (int64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		return 0, fmt.Errorf("bench: /proc/self/statm is %q: %w", b, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
