package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// openRecords returns the answer to a client that opens c.
func (v *service) openRecords(c *collection) *wire.OpenRecords {
	o := &wire.OpenRecords{Coll: c.Number, BootID: v.s.bootID, Seed: c.Records.Seed(), Space: c.Records.Space(), Now: v.s.now()}
	index, n := slabOf(c, store.IndexPart).reach(v.transport)
	o.IndexBytes = uint64(n)
	recs, n := slabOf(c, store.RecordsPart).reach(v.transport)
	o.Space.Bytes = uint64(n)
	if index != nil && recs != nil {
		o.Index, o.Records = index.Remote(), recs.Remote()
	}
	if c.Shards != nil {
		o.Shard = wire.ShardAt{Seed: c.Shards.Seed, Of: len(c.Shards.All), Number: c.Shard, Workers: v.s.owners(v.transport)}
	}
	return o
}

// answerRecords carries out a request about records.
func (v *service) answerRecords(from *peer, kind fastmsg.Kind, p, out []byte) (r result) {
	c, arg, p, err := v.s.head(kind, p)
	if err == nil && (c.Features == nil || !readsRecords(kind) && kind != wire.KindPart) {
		// Features are records too, but are written by other requests.
		err = c.Is(store.KindRecords)
	}
	if err != nil {
		return result{err: err}
	}
	v.touches(c, 1)
	switch kind {
	case wire.KindGet:
		r = v.getRecords(from, c, arg, p, out)
	case wire.KindPut:
		r = v.putRecord(from, c, arg, p, out, false)
	case wire.KindAppend:
		r = v.putRecord(from, c, arg, p, out, true)
	case wire.KindAwait:
		r = later(v.awaitRecord(from, c, arg, p))
	case wire.KindRemove:
		r = v.removeRecord(c, arg, p)
	case wire.KindScan:
		r = answered(v.scanRecords(c, p, out))
	case wire.KindRenew:
		r = answered(v.renewLeases(c, arg, p, out))
	case wire.KindPart:
		r.err = v.takePart(from, c, arg, p)
	}
	if errors.Is(r.err, kv.ErrClosed) || r.err == nil {
		if gone := c.Gone(); gone != nil {
			return result{err: gone}
		}
	}
	return r
}

func foundOf(v *record.View) wire.Found {
	return wire.Found{
		Revision: v.Revision, Expiry: time.Duration(v.Expiry), ValueBytes: uint32(v.ValueBytes), Flags: v.Flags,
	}
}

// putRecord carries out a put, or an append if joins is set.
func (v *service) putRecord(from *peer, c *collection, arg uint32, p, out []byte, joins bool) result {
	if err := v.s.CheckMemory(); err != nil {
		return result{err: err}
	}
	if len(p) < wire.PutBytes {
		return result{err: fmt.Errorf("%w: put of %d bytes, want at least %d", model.ErrProtocol, len(p), wire.PutBytes)}
	}
	cond, err := wire.GetCondition(arg&^wire.PutParts, binary.LittleEndian.Uint64(p))
	if err != nil {
		return result{err: err}
	}
	e := kv.Entry{Expiry: time.Duration(binary.LittleEndian.Uint64(p[8:])), Flags: binary.LittleEndian.Uint16(p[16:])}
	if e.Key, e.Value, err = wire.CutKey(p[wire.PutBytes-2:]); err != nil {
		return result{err: err}
	}
	if err := checkShard(c, e.Key); err != nil {
		return result{err: err}
	}
	parts := arg&wire.PutParts != 0
	if parts && joins {
		return result{err: fmt.Errorf("%w: an append in parts", model.ErrProtocol)}
	}
	if c.Kept != nil {
		return later(v.putKept(from, c, &e, cond, parts, joins))
	}
	revision := uint64(0)
	switch {
	case parts:
		revision, err = from.uploads.putParts(c, e, cond)
	case joins:
		revision, err = c.Records.Append(e, cond)
	default:
		revision, err = c.Records.Put(e, cond)
	}
	return answered(binary.LittleEndian.AppendUint64(out, revision), err)
}

func (v *service) removeRecord(c *collection, arg uint32, p []byte) result {
	if len(p) < 8 {
		return result{err: fmt.Errorf("%w: remove of %d bytes, want at least 8", model.ErrProtocol, len(p))}
	}
	cond, err := wire.GetCondition(arg, binary.LittleEndian.Uint64(p))
	if err != nil {
		return result{err: err}
	}
	key := p[8:]
	if err := checkShard(c, key); err != nil {
		return result{err: err}
	}
	if c.Kept != nil {
		return later(v.removeKept(c, key, cond), nil)
	}
	return result{err: c.Records.Delete(key, cond)}
}

func (v *service) scanRecords(c *collection, p, out []byte) ([]byte, error) {
	if len(p) != wire.CursorBytes {
		return out, fmt.Errorf("%w: scan with a cursor of %d bytes, want %d", model.ErrProtocol, len(p), wire.CursorBytes)
	}
	begin, n, cursor := len(out), 0, wire.GetCursor(p)
	out = append(out, p...) // the cursor's place
	v.records.scan.LongestValue = wire.ScanValue
	for pieces := 0; !cursor.Done && pieces < wire.ScanPieces && n < wire.ScanRecords && len(out)-begin < wire.ScanBytes; pieces++ {
		var err error
		cursor, err = c.Records.Scan(cursor, &v.records.scan, func(_ record.Ref, view record.View) {
			if c.Hides(view.Key) {
				return
			}
			f := foundOf(&view)
			out = binary.LittleEndian.AppendUint16(out, uint16(len(view.Key)))
			out = append(append(f.Append(out), view.Key...), view.Value...)
			n++
		})
		if err != nil {
			return out[:begin], err
		}
	}
	wire.AppendCursor(out[:begin], cursor)
	return out, nil
}

func (v *service) renewLeases(c *collection, n uint32, p, out []byte) ([]byte, error) {
	if n > wire.MaxRenewals || len(p) != 8*int(n) {
		return out, fmt.Errorf("%w: %d leases to renew in %d bytes, want up to %d, 8 bytes each", model.ErrProtocol, n, len(p), wire.MaxRenewals)
	}
	r := &v.records
	r.refs = r.refs[:0]
	for ; len(p) > 0; p = p[8:] {
		r.refs = append(r.refs, record.Ref(binary.LittleEndian.Uint64(p)))
	}
	r.leases = c.Records.Grant(r.refs, r.leases[:0])
	for _, l := range r.leases {
		out = binary.LittleEndian.AppendUint16(out, uint16(l/time.Second))
	}
	return out, nil
}

// readsRecords reports whether a request reads records. The records of features are
// read in the same way.
func readsRecords(k fastmsg.Kind) bool {
	return k == wire.KindGet || k == wire.KindRenew || k == wire.KindScan
}
