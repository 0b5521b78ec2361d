package client

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestHostileRecordRequests: malformed requests about records fail, and change nothing.
func TestHostileRecordRequests(t *testing.T) {
	s := startRecords(t, server.Options{})
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	good := dialRecords(t, s, Options{})
	if _, err := good.Put(t.Context(), model.Record{Key: []byte("k")}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	head := func(arg uint32) []byte { return wire.AppendHead(nil, 1, arg) }
	for _, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: model.TransportSHM}, {transport: model.TransportSoft}} {
		c := dial(t, s, p.options())
		for _, a := range []struct {
			kind    fastmsg.Kind
			payload []byte
			want    error
		}{
			{wire.KindGet, nil, model.ErrProtocol},
			{wire.KindGet, head(0), model.ErrProtocol},
			{wire.KindGet, head(1), model.ErrProtocol},
			{wire.KindGet, wire.AppendKey(head(wire.MaxKeys+1), []byte("k")), model.ErrProtocol},
			{wire.KindGet, wire.AppendKey(head(math.MaxUint32), []byte("k")), model.ErrProtocol},
			{wire.KindGet, head(wire.WithLeases), model.ErrProtocol},
			{wire.KindGet, head(1 | wire.WithLeases), model.ErrProtocol},
			{wire.KindGet, append(head(1), 255, 255, 'k'), model.ErrProtocol},
			{wire.KindGet, append(wire.AppendKey(head(1), []byte("k")), 0), model.ErrProtocol},
			{wire.KindGet, wire.AppendKey(wire.AppendHead(nil, 0, 1), []byte("k")), model.ErrKind},
			{wire.KindGet, wire.AppendKey(wire.AppendHead(nil, 77, 1), []byte("k")), model.ErrUnknownCollection},
			{wire.KindSearch, wire.AppendRect(head(0), square(0, 0)), model.ErrKind},
			{wire.KindPut, head(0), model.ErrProtocol},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(4), 0), 0, 0, []byte("k")), model.ErrProtocol},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(wire.IfRevision), 0), 0, 0, []byte("k")), model.ErrProtocol},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(0), 5), 0, 0, []byte("k")), model.ErrProtocol},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(0), 0), 0, 0, nil), record.ErrTooLarge},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(0), 0), 0, 0, make([]byte, record.MaxKeyBytes+1)), record.ErrTooLarge},
			{wire.KindPut, wire.AppendPut(wire.AppendRevision(head(wire.IfPresent), 0), 0, 0, []byte("none")), kv.ErrNotFound},
			{wire.KindAppend, head(0), model.ErrProtocol},
			{wire.KindAppend, wire.AppendPut(wire.AppendRevision(head(wire.PutParts), 0), 0, 0, []byte("k")), model.ErrProtocol},
			{wire.KindAwait, head(0), model.ErrProtocol},
			{wire.KindAwait, wire.AppendKey(head(0), nil), model.ErrProtocol},
			{wire.KindAwait, wire.AppendKey(head(0), []byte("k")), nil}, // for 0 ms
			{wire.KindRemove, head(0), model.ErrProtocol},
			{wire.KindRemove, wire.AppendRevision(head(0), 0), kv.ErrNotFound},
			{wire.KindScan, head(0), model.ErrProtocol},
			{wire.KindScan, append(head(0), make([]byte, wire.CursorBytes+1)...), model.ErrProtocol},
			{wire.KindRenew, head(1), model.ErrProtocol},
			{wire.KindRenew, head(math.MaxUint32), model.ErrProtocol},
			{wire.KindCreateRecords, []byte{0}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{9, 1, 'x'}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{0, 9, 'x'}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{0, 0}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{wire.WithShards, 1}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{wire.WithShards, 1, model.MaxShards + 1, 'x'}, model.ErrProtocol},
			{wire.KindCreateRecords, []byte{wire.WithShards, 1, 2, 'x', '/', '1'}, model.ErrProtocol},
		} {
			before := m.Stats()
			_, err := RawCall(t.Context(), c, wire.RawMessage{Kind: a.kind, Body: a.payload})
			if !errors.Is(err, a.want) {
				t.Errorf("%s: kind %d, payload %x: %v, want %v", p.transport, a.kind, a.payload, err, a.want)
			}
			if after := m.Stats(); after.Revision != before.Revision || after.Index.Items != 1 {
				t.Fatalf("%s: kind %d changed the records", p.transport, a.kind)
			}
		}
		// Leases on records that do not exist are not granted, and harm nothing.
		refs := head(3)
		for _, r := range []uint64{0, math.MaxUint64, 1<<40 | 1} {
			refs = wire.AppendRevision(refs, r)
		}
		ans, err := RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindRenew, Body: refs})
		if err != nil || !bytes.Equal(ans, make([]byte, 6)) {
			t.Errorf("%s: leases on made-up references: %x, %v", p.transport, ans, err)
		}
		// Any cursor is safe.
		for _, b := range []byte{1, 7, 63, 255} {
			_, err := RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindScan, Body: append(head(0), bytes.Repeat([]byte{b}, wire.CursorBytes)...)})
			if err != nil && !errors.Is(err, cuckoo.ErrScanLost) {
				t.Errorf("%s: a made-up cursor: %v", p.transport, err)
			}
		}
		if _, err := good.Get(t.Context(), []byte("k"), nil); err != nil {
			t.Errorf("%s: a well-behaved client: %v", p.transport, err)
		}
	}
}

// FuzzRecordAnswers: no answer from a server makes a client panic.
func FuzzRecordAnswers(f *testing.F) {
	one := wire.Found{Revision: 1, ValueBytes: 2}
	f.Add(append(one.Append(nil), "ab"...))
	leased := wire.Found{Revision: 1, ValueBytes: 2, Lease: 5 * time.Second, Ref: 1<<40 | 1}
	f.Add(append(leased.Append(nil), "ab"...))
	f.Add((&wire.OpenRecords{Coll: 1, Seed: 3}).Append(nil))
	f.Add((&wire.OpenRecords{Coll: 1, Seed: 3, Shard: wire.ShardAt{Seed: 5, Of: 4, Number: 3, Workers: 2}}).Append(nil))
	scan := wire.AppendCursor(nil, cuckoo.Cursor{Next: 3, Log2: 4})
	scan = append(append(one.Append(append(scan, 1, 0)), 'k'), "ab"...)
	f.Add(scan)
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := wire.GetOpenRecords(b); err == nil && !bytes.Equal(o.Append(nil)[8:], b[8:]) {
			t.Fatalf("%x decoded to %+v", b, o)
		}
		records, _, err := wire.GetScan(b)
		for _, r := range records {
			if err == nil && len(r.Key)+len(r.Value) > len(b) {
				t.Fatal("more than there was")
			}
		}
		for n := 1; n < 4; n++ {
			at := &recordsAt{pointers: remote.NewPointers(1 << 10)}
			at.m.Space.Bytes = 1 << (10 * n)
			g := &getQuery{records: make([]model.Record, n), asks: n > 1, read: read{open: &openSlab{records: at}}}
			for i := range n {
				g.keys, g.left = append(g.keys, []byte("k")), append(g.left, i)
			}
			if err := g.takeAnswer(b, n); err == nil && len(g.left) == n {
				t.Fatal("an answer to nothing")
			}
		}
	})
}
