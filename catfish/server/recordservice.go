package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// openRecords returns the answer to a client that opens c.
func (v *service) openRecords(c *collection) *wire.OpenRecords {
	o := &wire.OpenRecords{Coll: c.num, BootID: v.s.bootID, Seed: c.records.Seed(), Space: c.records.Space(), Now: v.s.now()}
	index, n := c.index.reach(v.transport)
	o.IndexBytes = uint64(n)
	recs, n := c.recordSlab().reach(v.transport)
	o.Space.Bytes = uint64(n)
	if index != nil && recs != nil {
		o.Index, o.Records = index.Remote(), recs.Remote()
	}
	if c.shards != nil {
		o.Shard = wire.ShardAt{Seed: c.shards.seed, Of: len(c.shards.all), Number: c.shard, Workers: v.s.owners(v.transport)}
	}
	return o
}

// answerRecords carries out a request about records.
func (v *service) answerRecords(kind fastmsg.Kind, p, out []byte) ([]byte, error) {
	if len(p) < wire.HeadBytes {
		return out, fmt.Errorf("%w: request kind %d of %d bytes", model.ErrProtocol, kind, len(p))
	}
	c, err := v.s.colls.byNumber(binary.LittleEndian.Uint32(p))
	if err == nil && (c.features == nil || !readsRecords(kind) && kind != wire.KindPart) {
		// Features are records too, but are written by other requests.
		err = c.isOf(model.KindRecords)
	}
	if err != nil {
		return out, err
	}
	v.touches(c, 1)
	arg, p := binary.LittleEndian.Uint32(p[4:]), p[wire.HeadBytes:]
	switch kind {
	case wire.KindGet:
		out, err = v.getRecords(c, arg, p, out)
	case wire.KindPut:
		out, err = v.putRecord(c, arg, p, out)
	case wire.KindRemove:
		err = v.removeRecord(c, arg, p)
	case wire.KindScan:
		out, err = v.scanRecords(c, p, out)
	case wire.KindRenew:
		out, err = v.renewLeases(c, arg, p, out)
	case wire.KindPart:
		err = v.takePart(c, arg, p)
	}
	if errors.Is(err, kv.ErrClosed) || err == nil {
		if gone := c.gone(); gone != nil {
			return out[:0], gone
		}
	}
	return out, err
}

func foundOf(v *record.View) wire.Found {
	return wire.Found{
		Revision: v.Revision, Expiry: time.Duration(v.Expiry), ValueBytes: uint32(v.ValueBytes), Flags: v.Flags,
	}
}

func (v *service) putRecord(c *collection, arg uint32, p, out []byte) ([]byte, error) {
	if err := v.s.CheckMemory(); err != nil {
		return out, err
	}
	if len(p) < wire.PutBytes {
		return out, fmt.Errorf("%w: put of %d bytes, want at least %d", model.ErrProtocol, len(p), wire.PutBytes)
	}
	cond, err := wire.GetCondition(arg&^wire.PutParts, binary.LittleEndian.Uint64(p))
	if err != nil {
		return out, err
	}
	e := kv.Entry{Expiry: time.Duration(binary.LittleEndian.Uint64(p[8:])), Flags: binary.LittleEndian.Uint16(p[16:])}
	if e.Key, e.Value, err = wire.CutKey(p[wire.PutBytes-2:]); err != nil {
		return out, err
	}
	if err := c.checkShard(e.Key); err != nil {
		return out, err
	}
	revision := uint64(0)
	if arg&wire.PutParts != 0 {
		revision, err = v.putParts(c, e, cond)
	} else {
		revision, err = c.records.Put(e, cond)
	}
	return binary.LittleEndian.AppendUint64(out, revision), err
}

func (v *service) removeRecord(c *collection, arg uint32, p []byte) error {
	if len(p) < 8 {
		return fmt.Errorf("%w: remove of %d bytes, want at least 8", model.ErrProtocol, len(p))
	}
	cond, err := wire.GetCondition(arg, binary.LittleEndian.Uint64(p))
	if err != nil {
		return err
	}
	if err := c.checkShard(p[8:]); err != nil {
		return err
	}
	return c.records.Delete(p[8:], cond)
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
		cursor, err = c.records.Scan(cursor, &v.records.scan, func(_ record.Ref, view record.View) {
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
	r.leases = c.records.Grant(r.refs, r.leases[:0])
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
