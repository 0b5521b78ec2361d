package disk

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Entries of groups raise the format, and come back from the log as they were.
func TestEntriesOfGroups(t *testing.T) {
	fs := vfs.NewMem()
	db := open(t, fs, Options{})
	commit(t, db, create(db, 1, "c"))
	named := put(1, "key", "value", db.Revision()+2)
	named.Client, named.Number = 1<<63, 9
	want := []Entry{TermEntry(db.Revision()+1, 3), named}
	if err := db.Commit(want); err != nil {
		t.Fatal(err)
	}
	closeDB(t, db)
	if r, err := check(fs, "data"); err != nil || r.Format != groupFormat || r.Keys != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	db = open(t, fs, Options{})
	defer closeDB(t, db)
	if got := db.Terms(); !reflect.DeepEqual(got, []Span{{3, 2}}) {
		t.Errorf("terms %v", got)
	}
	it, err := db.Log(2)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for _, w := range want {
		if !it.Next() {
			t.Fatal(it.Err())
		}
		if n := it.Entry(); n.Client != w.Client || n.Number != w.Number || n.Term() != w.Term() || !reflect.DeepEqual(n.Key, append([]byte{}, w.Key...)) {
			t.Errorf("%+v, want %+v", n, w)
		}
	}
	if err := db.Commit([]Entry{{Kind: Term, Revision: db.Revision() + 1, Value: []byte("short")}}); !errors.Is(err, ErrEntry) {
		t.Errorf("a term of 5 bytes: %v", err)
	}
}
