package disk

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// benchValue is about a feature: bytes that compress by about a third.
func benchValue(i uint64) []byte {
	v := make([]byte, 250)
	for j := range v {
		v[j] = "abcdefgh"[j%8]
	}
	for j := 0; j+8 <= len(v)*2/3; j += 8 {
		binary.LittleEndian.PutUint64(v[j:], (i+uint64(j))*0x9e3779b97f4a7c15)
	}
	return v
}

func benchOpen(b *testing.B, s Sync) *DB {
	db, err := Open(b.TempDir(), Options{Sync: s})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Commit([]Entry{create(db, 1, "c")}); err != nil {
		b.Fatal(err)
	}
	return db
}

func benchEntries(n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Collection: 1, Kind: Put, Key: make([]byte, 16), Value: benchValue(uint64(i))}
	}
	return entries
}

// number gives entries the next revisions and scattered keys.
func number(entries []Entry, revision uint64) {
	for i := range entries {
		revision++
		entries[i].Revision = revision
		binary.BigEndian.PutUint64(entries[i].Key, revision*0x9e3779b97f4a7c15)
	}
}

// BenchmarkCommit: batches of a number of entries of 250 B. fsync is a page
// of an allocated file of the same directory, written and synced, in the same run.
func BenchmarkCommit(b *testing.B) {
	b.Run("fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		const size = 16 << 20 // Allocated, as Pebble's WAL is.
		if _, err := f.Write(make([]byte, size)); err != nil {
			b.Fatal(err)
		}
		page := make([]byte, 4096)
		b.ResetTimer()
		for i := range b.N {
			if _, err := f.WriteAt(page, int64(i)*4096%size); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, s := range []Sync{SyncAlways, SyncOff} {
		for _, n := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("sync=%v/entries=%d", s, n), func(b *testing.B) {
				db := benchOpen(b, s)
				defer db.Close()
				entries := benchEntries(n)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					number(entries, db.Revision())
					if err := db.Commit(entries); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "entries/s")
			})
		}
	}
}

// BenchmarkLoad: restart with a number of entries of 250 B, opening included.
func BenchmarkLoad(b *testing.B) {
	const keys = 2_000_000
	dir := b.TempDir()
	db, err := Open(dir, Options{Sync: SyncOff})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Commit([]Entry{create(db, 1, "c")}); err != nil {
		b.Fatal(err)
	}
	entries := benchEntries(256)
	for db.Revision() < keys {
		number(entries, db.Revision())
		if err := db.Commit(entries); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			for range b.N {
				db, err := Open(dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				var n, bytes atomic.Int64
				counts := make([]struct {
					n, bytes int64
					_        [48]byte
				}, workers)
				err = db.Load(context.Background(), 1, workers, func(w int, key, value []byte, _ uint64, _ int64, _ uint16) error {
					counts[w].n++
					counts[w].bytes += int64(len(key) + len(value))
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range counts {
					n.Add(c.n)
					bytes.Add(c.bytes)
				}
				if n.Load() < keys {
					b.Fatal(n.Load())
				}
				b.SetBytes(bytes.Load())
				if err := db.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
