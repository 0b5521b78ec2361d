package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Appends of several goroutines, also those of one batch, are all in the value, each once,
// in the order of each goroutine; and still after a restart.
func TestRecordsAppend(t *testing.T) {
	for _, s := range []disk.Sync{disk.SyncAlways, disk.SyncOff} {
		t.Run(fmt.Sprint("sync=", s), func(t *testing.T) {
			o := Options{Dir: t.TempDir(), Sync: s, SlabBytes: 64 << 20}
			st, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			c := records(t, st, RecordsOptions{})
			const writers, each = 8, 20
			key := []byte("log")
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					for n := range each {
						if _, err := c.Append(kv.Entry{Key: key, Value: fmt.Appendf(nil, "%d.%d ", i, n), Flags: 3}, kv.Condition{}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			// One batch, with a put between.
			var w Writes
			ended := make(chan error, 3)
			said := func(_ uint64, err error) { ended <- err }
			w.AppendRecord(Name{}, c, "turn", AppendRecordValue(nil, []byte("a"), 1), 0, kv.Condition{}, said)
			w.PutRecord(Name{}, c, "turn", AppendRecordValue(nil, []byte("b"), 2), 0, kv.Condition{}, said)
			w.AppendRecord(Name{}, c, "turn", AppendRecordValue(nil, []byte("c"), 4), 0, kv.Condition{IfPresent: true}, said)
			w.Submit()
			for range 3 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			if _, err := c.Append(kv.Entry{Key: []byte("none")}, kv.Condition{IfPresent: true}); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("if present, of no record: %v", err)
			}
			if _, err := c.Append(kv.Entry{Key: key, Value: make([]byte, kv.MostAppended)}, kv.Condition{}); !errors.Is(err, record.ErrTooLarge) {
				t.Errorf("of a value beyond the limit: %v", err)
			}
			for range 2 {
				v, err := c.Get(key, &kv.Buffer{})
				if err != nil || v.Flags != 3 {
					t.Fatalf("flags %d, %v", v.Flags, err)
				}
				next := [writers]int{}
				words := strings.Fields(string(v.Value))
				for _, word := range words {
					var i, n int
					if _, err := fmt.Sscanf(word, "%d.%d", &i, &n); err != nil || next[i] != n {
						t.Fatalf("%q after %v", word, next)
					}
					next[i]++
				}
				if len(words) != writers*each {
					t.Errorf("%d appended, want %d", len(words), writers*each)
				}
				if v, err := c.Get([]byte("turn"), &kv.Buffer{}); err != nil || string(v.Value) != "bc" || v.Flags != 2 {
					t.Errorf("%q, flags %d, %v", v.Value, v.Flags, err)
				}
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
				if st, err = Open(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				c = records(t, st, RecordsOptions{})
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// An append in a group that is repeated, in the same batch or later, is made once.
func TestRepeatedAppendIsMadeOnce(t *testing.T) {
	st, log := member(t, t.TempDir()), leading()
	st.Replicate(log)
	c := records(t, st, RecordsOptions{})
	as := Name{Client: 7, Number: 1, After: st.Revision()}
	var revisions []uint64
	for range 2 {
		var w Writes
		for range 2 {
			w.AppendRecord(as, c, "k", AppendRecordValue(nil, []byte("x"), 0), 0, kv.Condition{}, func(r uint64, err error) {
				if err != nil {
					t.Error(err)
				}
				revisions = append(revisions, r)
			})
			as.Again = true
		}
		if err := st.runAlone(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		w.Submit()
		if err := st.runAlone(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := c.Get([]byte("k"), &kv.Buffer{}); err != nil || string(v.Value) != "x" {
		t.Errorf("%q, %v", v.Value, err)
	}
	if len(slices.Compact(revisions)) != 1 {
		t.Errorf("revisions %v", revisions)
	}
}
