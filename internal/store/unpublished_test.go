package store

import (
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestUnpublishedIsNotCounted: the first writes of a batch to a feature cannot be
// published, and the last one is. The schema counts the state that readers see: none of
// those that failed, nor the state before.
func TestUnpublishedIsNotCounted(t *testing.T) {
	for _, failing := range []int{1, 2} {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprint(failing, " fail, there before: ", there), func(t *testing.T) {
				c := create(t, open(t, Options{SlabBytes: 1 << 20}), CollectionOptions{})
				st := c.st
				if there {
					if _, _, err := c.Put(t.Context(), Feature{ID: "x", Properties: []byte(`{"before":1}`)}, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
				}
				var batch []*write
				for i := range failing + 1 {
					_, value, err := query.Encode(Feature{ID: "x", Properties: fmt.Appendf(nil, `{"p%d":1}`, i)}, 0)
					if err != nil {
						t.Fatal(err)
					}
					batch = append(batch, &write{coll: c, kind: disk.Put, id: "x", key: []byte("x"), value: value, done: func(uint64, error) {}})
				}
				last := batch[failing]
				value := last.value
				last.patch = func(*Found) ([]byte, error) { // When the others were staged.
					for _, w := range batch[:failing] {
						if err := w.discard(); err != nil {
							t.Error(err)
						}
						w.ref = record.Ref(1) // Of no record.
					}
					return value, nil
				}
				if err := st.runAlone(func() error { st.commitBatch(batch); return nil }); err != nil {
					t.Fatal(err)
				}
				for i, w := range batch {
					if failed := w.err != nil; failed != (i < failing) {
						t.Fatalf("write %d: %v", i, w.err)
					}
				}
				d, err := c.Describe()
				if err != nil || len(d.Properties) != 1 || d.Properties[0].Name != fmt.Sprint("p", failing) {
					t.Errorf("%+v, %v", d.Properties, err)
				}
			})
		}
	}
}
