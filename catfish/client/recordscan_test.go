package client

import (
	"context"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestScanSkipsDeletedValues: a scan continues if a long value was deleted meanwhile, and ends
// with an error if the name has come to mean another collection.
func TestScanSkipsDeletedValues(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, p := range kvPaths() {
		if p.transport != model.TransportTCP && p.policy != "fast" {
			continue // A scan always uses messages.
		}
		c := dial(t, s, p.options())
		r, err := c.Records("mine")
		if err != nil {
			t.Fatal(err)
		}
		fill := func(ctx context.Context) {
			if err := c.CreateRecords(ctx, "mine", model.RecordsOptions{}); err != nil {
				t.Fatal(err)
			}
			for i := range 300 {
				if _, err := r.Put(ctx, model.Record{Key: testKey(i)}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		ctx := t.Context()
		fill(ctx)
		long := make([]byte, wire.ScanValue+1)
		for i := range 2 {
			// Plain sockets take no longer values.
			if _, err := r.Put(ctx, model.Record{Key: testKey(-i), Value: long}, kv.Condition{}); err != nil && p.transport != "tcp" {
				t.Fatal(err)
			}
		}
		seen := 0
		for rec, err := range r.Scan(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			// The other long one is deleted when the scan asks for it, unless it came first.
			if seen++; len(rec.Value) > wire.ScanValue {
				for i := range 2 {
					_ = r.Delete(ctx, testKey(-i), kv.Condition{})
				}
			}
		}
		if seen < 299 || seen > 302 {
			t.Errorf("%s: %d records", p.name, seen)
		}
		var lost error
		dropped := false
		for _, err := range r.Scan(ctx) {
			if lost = err; lost != nil {
				break
			}
			if dropped { // The rest of what came with the first record.
				continue
			}
			dropped = true
			if _, err := c.DropCollection(ctx, "mine"); err != nil {
				t.Fatal(err)
			}
			fill(ctx)
		}
		if !errors.Is(lost, cuckoo.ErrScanLost) {
			t.Errorf("%s: the scan of one that was dropped: %v", p.name, lost)
		}
		if _, err := c.DropCollection(ctx, "mine"); err != nil {
			t.Fatal(err)
		}
	}
}
