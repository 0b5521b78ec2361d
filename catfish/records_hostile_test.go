package catfish

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// recordRequests is a request of each kind, to collection 1.
func recordRequests() map[fastmsg.Kind][]byte {
	return map[fastmsg.Kind][]byte{
		kindCreateRecords: append(appendRecordsOptions(nil, RecordsOptions{Items: 4}), "more"...),
		kindGet:           appendKey(appendKey(appendHead(nil, 1, 2), []byte("k")), []byte("other")),
		kindPut:           append(appendPut(appendRevision(appendHead(nil, 1, 0), 0), 0, 7, []byte("k")), "value"...),
		kindRemove:        append(appendRevision(appendHead(nil, 1, ifRevision), 3), "k"...),
		kindScan:          appendCursor(appendHead(nil, 1, 0), cuckoo.Cursor{}),
		kindRenew:         appendRevision(appendHead(nil, 1, 1), 1<<40|1),
		kindPart:          append(appendPart(appendHead(nil, 1, 3), 0, 5), "value"...),
	}
}

// TestHostileRecordRequests: malformed requests about records fail, and change nothing.
func TestHostileRecordRequests(t *testing.T) {
	s := startRecords(t, ServerOptions{})
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	good := dialRecords(t, s, Options{})
	if _, err := good.Put(t.Context(), Record{Key: []byte("k")}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	head := func(arg uint32) []byte { return appendHead(nil, 1, arg) }
	for _, p := range []path{{transport: TransportTCP, policy: "tcp"}, {transport: TransportSHM}, {transport: TransportSoft}} {
		c := dial(t, s, p.options())
		for _, a := range []struct {
			kind    fastmsg.Kind
			payload []byte
			want    error
		}{
			{kindGet, nil, ErrProtocol},
			{kindGet, head(0), ErrProtocol},
			{kindGet, head(1), ErrProtocol},
			{kindGet, appendKey(head(maxKeys+1), []byte("k")), ErrProtocol},
			{kindGet, appendKey(head(math.MaxUint32), []byte("k")), ErrProtocol},
			{kindGet, append(head(1), 255, 255, 'k'), ErrProtocol},
			{kindGet, append(appendKey(head(1), []byte("k")), 0), ErrProtocol},
			{kindGet, appendKey(appendHead(nil, 0, 1), []byte("k")), ErrKind},
			{kindGet, appendKey(appendHead(nil, 77, 1), []byte("k")), ErrUnknownCollection},
			{kindSearch, appendRect(head(0), square(0, 0)), ErrKind},
			{kindPut, head(0), ErrProtocol},
			{kindPut, appendPut(appendRevision(head(4), 0), 0, 0, []byte("k")), ErrProtocol},
			{kindPut, appendPut(appendRevision(head(ifRevision), 0), 0, 0, []byte("k")), ErrProtocol},
			{kindPut, appendPut(appendRevision(head(0), 5), 0, 0, []byte("k")), ErrProtocol},
			{kindPut, appendPut(appendRevision(head(0), 0), 0, 0, nil), record.ErrTooLarge},
			{kindPut, appendPut(appendRevision(head(0), 0), 0, 0, make([]byte, record.MaxKeyBytes+1)), record.ErrTooLarge},
			{kindRemove, head(0), ErrProtocol},
			{kindRemove, appendRevision(head(0), 0), kv.ErrNotFound},
			{kindScan, head(0), ErrProtocol},
			{kindScan, append(head(0), make([]byte, cursorBytes+1)...), ErrProtocol},
			{kindRenew, head(1), ErrProtocol},
			{kindRenew, head(math.MaxUint32), ErrProtocol},
			{kindCreateRecords, []byte{0}, ErrProtocol},
			{kindCreateRecords, []byte{9, 1, 'x'}, ErrProtocol},
			{kindCreateRecords, []byte{0, 9, 'x'}, ErrProtocol},
			{kindCreateRecords, []byte{0, 0}, ErrProtocol},
			{kindCreateRecords, []byte{withShards, 1}, ErrProtocol},
			{kindCreateRecords, []byte{withShards, 1, MaxShards + 1, 'x'}, ErrProtocol},
			{kindCreateRecords, []byte{withShards, 1, 2, 'x', '/', '1'}, ErrProtocol},
		} {
			before := m.Stats()
			_, err := RawCall(t.Context(), c, RawMessage{Kind: a.kind, Body: a.payload})
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
			refs = appendRevision(refs, r)
		}
		ans, err := RawCall(t.Context(), c, RawMessage{Kind: kindRenew, Body: refs})
		if err != nil || !bytes.Equal(ans, make([]byte, 6)) {
			t.Errorf("%s: leases on made-up references: %x, %v", p.transport, ans, err)
		}
		// Any cursor is safe.
		for _, b := range []byte{1, 7, 63, 255} {
			_, err := RawCall(t.Context(), c, RawMessage{Kind: kindScan, Body: append(head(0), bytes.Repeat([]byte{b}, cursorBytes)...)})
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
	one := found{revision: 1, valueBytes: 2}
	f.Add(append(one.append(nil), "ab"...))
	f.Add((&openRecords{coll: 1, seed: 3}).append(nil))
	f.Add((&openRecords{coll: 1, seed: 3, shard: shardAt{seed: 5, of: 4, number: 3, workers: 2}}).append(nil))
	scan := appendCursor(nil, cuckoo.Cursor{Next: 3, Log2: 4})
	scan = append(append(one.append(append(scan, 1, 0)), 'k'), "ab"...)
	f.Add(scan)
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := getOpenRecords(b); err == nil && !bytes.Equal(o.append(nil)[8:], b[8:]) {
			t.Fatalf("%x decoded to %+v", b, o)
		}
		records, _, err := getScan(b)
		for _, r := range records {
			if err == nil && len(r.Key)+len(r.Value) > len(b) {
				t.Fatal("more than there was")
			}
		}
		for n := 1; n < 4; n++ {
			g := &getQuery{records: make([]Record, n), open: &openSlab{records: &recordsAt{}}}
			for i := range n {
				g.keys, g.left = append(g.keys, []byte("k")), append(g.left, i)
			}
			if err := g.takeAnswer(b, n); err == nil && len(g.left) == n {
				t.Fatal("an answer to nothing")
			}
		}
	})
}
