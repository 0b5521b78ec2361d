// Package querylogtest reads recordings in tests.
package querylogtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/querylog"
)

// Read reads a whole recording, and fails the test if it is malformed, out
// of order, or names a collection too late. It returns the requests, the
// names of the collections by number, and how many requests were lost.
func Read(t testing.TB, b []byte) (asked []querylog.Record, names map[uint32]string, lost uint64) {
	t.Helper()
	r, err := querylog.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	names = map[uint32]string{}
	last := time.Duration(0)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return asked, names, lost
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Offset < last {
			t.Fatalf("a record of %v after one of %v", rec.Offset, last)
		}
		last = rec.Offset
		switch rec.Kind {
		case querylog.Collection:
			names[rec.Collection] = rec.Name
		case querylog.Dropped:
			lost += rec.Lost
		default:
			if names[rec.Collection] == "" {
				t.Fatalf("collection %d has no name yet", rec.Collection)
			}
			asked = append(asked, rec)
		}
	}
}

// ReadFile is Read of a file.
func ReadFile(t testing.TB, path string) ([]querylog.Record, map[uint32]string, uint64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Read(t, b)
}
