package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	table "github.com/catfish-index/catfish/cuckoo/remote"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/record"
	records "github.com/catfish-index/catfish/record/remote"
)

// Map is what a client knows of a kv.Map in a server's memory. Any number of
// Readers may use it.
type Map struct {
	Table *table.Table // its Base is that of the slab
	Seed  uint64       // of cuckoo.Hash
	// Space is that of the records, which begin at RecordsAt in the slab.
	Space     record.Space
	RecordsAt uint64
	// Block is the block size of the readers' channels.
	Block int
}

// Errors of an Answer besides kv.ErrNotFound and those of records.
var (
	// ErrUnsettled: writers disturbed the lookup too often. Ask the server.
	ErrUnsettled = errors.New("kv/remote: disturbed too often")
	// ErrTooLarge: longer than a block of the channel. Ask the server.
	ErrTooLarge = records.ErrTooLarge
)

// Answer is what became of one key.
type Answer struct {
	// View is the record. It is good until the Reader is used again.
	View record.View
	Ref  record.Ref
	Err  error
}

// Reader looks keys up over a read channel, for one goroutine at a time.
type Reader struct {
	channel *offload.Channel
	regions [1]rdma.Remote       // the slab
	now     func() time.Duration // of a monotonic clock
	wall    func() time.Duration // of the Map's: records expire by it
	walk    table.Walk
	stats   offload.Stats

	m       *Map
	begun   time.Duration
	keys    [][]byte
	hashes  []uint64
	answers []Answer
	arena   []byte // what Views lie in
	one     struct {
		keys    [1][]byte
		answers [1]Answer
	}
}

// NewReader makes a Reader that uses the channel, which stays the caller's. now is
// a monotonic clock, wall the clock of the Map's expiry.
func NewReader(ch *offload.Channel, now, wall func() time.Duration) *Reader {
	return &Reader{channel: ch, now: now, wall: wall}
}

// Get looks up one key.
func (r *Reader) Get(ctx context.Context, m *Map, key []byte) (Answer, error) {
	r.one.keys[0] = key
	err := r.GetMany(ctx, m, r.one.keys[:], r.one.answers[:])
	return r.one.answers[0], err
}

// GetMany looks up keys in one walk. answers has room for as many. The error is
// that of the channel, of the server's memory, or of ctx; answers say what became
// of each key then, too.
func (r *Reader) GetMany(ctx context.Context, m *Map, keys [][]byte, answers []Answer) error {
	r.m, r.keys, r.answers = m, keys, answers[:len(keys)]
	r.stats, r.arena, r.hashes = offload.Stats{}, r.arena[:0], r.hashes[:0]
	for i, k := range keys {
		r.hashes = append(r.hashes, cuckoo.Hash(m.Seed, k))
		answers[i] = Answer{Err: ErrUnsettled}
	}
	if err := r.walk.Begin(m.Table, r.hashes, (*follower)(r)); err != nil {
		return err
	}
	r.regions[0] = m.Table.Base
	r.begun = r.now()
	err := r.channel.Run(ctx, r.regions[:], &r.walk, &r.stats)
	for i := range r.answers {
		a := &r.answers[i]
		switch r.walk.Result(i) {
		case table.Absent:
			if errors.Is(a.Err, ErrUnsettled) { // not a candidate that is too large
				a.Err = kv.ErrNotFound
			}
		case table.Found:
			if a.Err == nil && a.View.Expiry != 0 && a.View.Expiry <= int64(r.wall()) {
				*a = Answer{Err: kv.ErrNotFound}
			}
		}
	}
	return err
}

// maxBytes bounds what one walk keeps, whatever a server's memory says.
const maxBytes = 64 << 20

// Stats is what the last call has cost, whether it failed or not.
func (r *Reader) Stats() offload.Stats { return r.stats }

// follower reads the records of candidates.
type follower Reader

// Candidates implements cuckoo/remote.Follower. The read says what the reference
// was: its place, its length, and by Tag its generation.
func (f *follower) Candidates(i int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error) {
	for _, r := range refs {
		ref := record.Ref(r)
		if err := f.m.Space.Check(ref); err != nil {
			return dst, fmt.Errorf("kv/remote: %w", err)
		}
		if ref.Bytes() > f.m.Block {
			f.answers[i].Err = fmt.Errorf("%w: a record of %d bytes, blocks are %d", ErrTooLarge, ref.Bytes(), f.m.Block)
			continue
		}
		dst = append(dst, offload.Ref{
			Offset: f.m.RecordsAt + ref.Offset(), Len: uint32(ref.Bytes()), Hop: hop, Tag: uint64(ref.Generation()),
		})
	}
	return dst, nil
}

// Visit implements cuckoo/remote.Follower.
func (f *follower) Visit(i int, r offload.Ref, block []byte, dst []offload.Ref) ([]offload.Ref, table.Judgement, offload.Verdict, error) {
	ref := record.RefAt(r.Offset-f.m.RecordsAt, int(r.Len), uint32(r.Tag))
	if f.now()-f.begun >= record.DefaultGrace {
		return dst, table.Stale, offload.Accept, nil
	}
	from := len(f.arena)
	if from+len(block) > maxBytes {
		f.answers[i].Err = fmt.Errorf("%w: more than %d bytes in one walk", ErrTooLarge, maxBytes)
		return dst, table.Match, offload.Accept, nil
	}
	f.arena = append(f.arena, block...)
	v, err := f.m.Space.Parse(ref, f.arena[from:], f.keys[i])
	switch {
	case err == nil, errors.Is(err, record.ErrDead): // it was the key's when the index was read
		a := &f.answers[i]
		a.View, a.Ref, a.Err = v, ref, nil
		if v.Blocks() > 0 {
			a.Err = fmt.Errorf("%w: a value of %d bytes", ErrTooLarge, v.ValueBytes)
		}
		return dst, table.Match, offload.Accept, nil
	case errors.Is(err, record.ErrOtherKey):
		f.arena = f.arena[:from]
		return dst, table.OtherKey, offload.Accept, nil
	case errors.Is(err, record.ErrStale):
		f.arena = f.arena[:from]
		return dst, table.Stale, offload.Accept, nil
	}
	return dst, 0, 0, fmt.Errorf("kv/remote: %w", err)
}
