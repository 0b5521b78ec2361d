package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/kv"
)

// Writes of the commit queue are counted by their results.
func TestStats(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir()})
	c := create(t, st, CollectionOptions{})
	for i := range 3 {
		if _, _, err := c.Put(t.Context(), Feature{ID: fmt.Sprint(i)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Put(t.Context(), Feature{ID: "1"}, kv.Condition{IfAbsent: true}); !errors.Is(err, kv.ErrExists) {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), "1", kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	s := st.Stats()
	for name, n := range map[string]uint64{"put": 3, "deleted": 1, "condition": 1, "read_only": 0, "failed": 0} {
		if s.Writes[name] != n {
			t.Errorf("%d writes %s, want %d", s.Writes[name], name, n)
		}
	}
	if s.Batches.Count != 4 || s.Batches.Sum != 4 || s.Commits.Count != 4 || s.Disk == nil || s.Disk.Syncs.Count < 4 ||
		s.Disk.LogBytes == 0 || s.Disk.Revision != s.Revision || s.Revision != 5 || s.Disk.ReadOnly != "" {
		t.Errorf("%+v, %+v", s, s.Disk)
	}
}
