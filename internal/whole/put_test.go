package whole

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// What is put again comes before what has come later, and batches are of one collection.
func TestQueue(t *testing.T) {
	of := func(collection, ids string) (l []put) {
		for _, id := range strings.Fields(ids) {
			l = append(l, put{EncodedFeature: store.EncodedFeature{ID: id, Value: make([]byte, putBytes/3)}, collection: collection})
		}
		return l
	}
	q := &queue{sending: true} // by this test
	next := func() ([]put, string) {
		batch := q.next()
		var ids []string
		for _, p := range batch {
			ids = append(ids, p.ID)
		}
		return batch, strings.Join(ids, " ")
	}
	q.add(nil, of("x", "a b"), false)
	batch, ids := next()
	if ids != "a b" {
		t.Errorf("the first batch has %s", ids)
	}
	q.add(nil, of("x", "c d"), false)
	q.add(nil, of("y", "e"), false)
	q.add(nil, batch[1:], true)
	for _, want := range []string{"b c", "d", "e", ""} { // Three of them have more than putBytes.
		if _, ids := next(); ids != want {
			t.Errorf("a batch has %q, want %q", ids, want)
		}
	}
	if q.sending {
		t.Error("an empty queue has a sender")
	}
}
