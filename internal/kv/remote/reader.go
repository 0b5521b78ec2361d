package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
	records "github.com/catfish-index/catfish/internal/record/remote"
	"github.com/catfish-index/catfish/offload"
)

// Map is a client's knowledge of a kv.Map in a server's memory. Any number of Readers
// may use it.
type Map struct {
	Table *table.Table // its Base is where the index begins
	Seed  uint64       // of cuckoo.Hash
	// Space is that of the records. Its Bytes, and Table.Bytes, are the memory that the
	// client can reach: no read leads beyond.
	Space record.Space
	// Records is where the memory of the records begins.
	Records rdma.Remote
	// Block is the block size of the readers' channels.
	Block int
}

// The regions of a walk.
const (
	indexRegion = iota // package internal/cuckoo/remote reads it
	recordsRegion
	regions
)

// ErrGrown: the index or a record lies beyond the memory that the client knows
// (Table.Bytes, Space.Bytes), so nothing was read there. Ask the server where the
// memory is now, and read with a new Map; give up if it is no larger.
var ErrGrown = errors.New("kv/remote: memory has grown beyond what is known")

// Errors of an Answer besides kv.ErrNotFound and those of records.
var (
	// ErrUnsettled: writers disturbed the lookup too often. Ask the server.
	ErrUnsettled = errors.New("kv/remote: disturbed too often")
	// ErrTooLarge: longer than a block of the channel. Ask the server.
	ErrTooLarge = records.ErrTooLarge
	// ErrNotKept: the key has no good kept reference (GetOnlyKept). Ask the server.
	ErrNotKept = errors.New("kv/remote: no good reference is kept")
)

// Answer is the result for one key.
type Answer struct {
	// View is the record. It is good until the Reader is used again.
	View record.View
	Ref  record.Ref
	Err  error
	// Until is the latest time for a read by Ref to come back, if the client keeps it
	// without a lease (kept.go). 0: it is not to be kept, or was kept, with a time of
	// its own.
	Until   time.Duration
	Kept    bool // the answer was read by the kept reference
	Invalid bool // the kept reference was bad: the key was looked up
}

// found sets the answer to a record.
func (a *Answer) found(v record.View, ref record.Ref) {
	a.View, a.Ref, a.Err = v, ref, nil
	if v.Blocks() > 0 {
		a.Err = fmt.Errorf("%w: a value of %d bytes", ErrTooLarge, v.ValueBytes)
	}
}

// Reader looks keys up over a read channel, for one goroutine at a time.
type Reader struct {
	channel *offload.Channel
	regions [regions]rdma.Remote
	now     func() time.Duration // of a monotonic clock
	wall    func() time.Duration // the Map's clock, by which records expire
	walk    table.Walk
	stats   offload.Stats

	m       *Map
	begun   time.Duration // before anything was posted
	keys    [][]byte
	kept    []Kept   // as many as keys, or none
	only    bool     // no lookups
	next    int      // of kept: the first not used yet
	lookups []lookup // by the walk's numbers
	hashes  []uint64
	answers []Answer
	arena   []byte // memory of the Views
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

// GetMany looks up keys in one walk. answers has at least the length of keys. The error
// is that of the channel, of the server's memory, or of ctx; answers have the result of
// each key then, too.
func (r *Reader) GetMany(ctx context.Context, m *Map, keys [][]byte, answers []Answer) error {
	return r.GetKept(ctx, m, keys, nil, answers)
}

// GetKept is GetMany for a client that has kept references to some of the records. kept
// has as many elements as keys, or none. A key with a good reference takes one read; a
// key with a bad one is looked up in the same walk (kept.go).
func (r *Reader) GetKept(ctx context.Context, m *Map, keys [][]byte, kept []Kept, answers []Answer) error {
	return r.get(ctx, m, keys, kept, false, answers)
}

// GetOnlyKept is GetKept without lookups: keys without a good reference are ErrNotKept.
func (r *Reader) GetOnlyKept(ctx context.Context, m *Map, keys [][]byte, kept []Kept, answers []Answer) error {
	return r.get(ctx, m, keys, kept, true, answers)
}

func (r *Reader) get(ctx context.Context, m *Map, keys [][]byte, kept []Kept, only bool, answers []Answer) error {
	if len(keys) > table.MaxLookups {
		return fmt.Errorf("%w: %d keys, want at most %d", table.ErrTooMany, len(keys), table.MaxLookups)
	}
	if kept != nil {
		kept = kept[:len(keys)]
	}
	r.m, r.keys, r.kept, r.only, r.answers = m, keys, kept, only, answers[:len(keys)]
	r.stats, r.arena = offload.Stats{}, r.arena[:0]
	r.hashes, r.lookups, r.next = r.hashes[:0], r.lookups[:0], 0
	r.regions = [regions]rdma.Remote{indexRegion: m.Table.Base, recordsRegion: m.Records}
	r.begun = r.now()
	for i, k := range keys {
		a := &r.answers[i]
		*a = Answer{Err: ErrUnsettled}
		if kept != nil && kept[i].Ref != 0 {
			if r.usable(kept[i]) {
				continue
			}
			a.Invalid = true
		}
		if only {
			a.Err = ErrNotKept
			continue
		}
		r.hashes = append(r.hashes, cuckoo.Hash(m.Seed, k))
		r.lookups = append(r.lookups, lookup{key: i, since: r.begun})
	}
	if err := r.walk.Begin(m.Table, r.hashes, (*follower)(r)); err != nil {
		return err
	}
	err := r.channel.Run(ctx, r.regions[:], (*traversal)(r), &r.stats)
	if errors.Is(err, cuckoo.ErrGrown) || errors.Is(err, record.ErrGrown) {
		err = fmt.Errorf("%w: %w", ErrGrown, err)
	}
	for n, l := range r.lookups {
		// Not found, and no candidate was too large to be read.
		if a := &r.answers[l.key]; r.walk.Result(n) == table.Absent && errors.Is(a.Err, ErrUnsettled) {
			a.Err = kv.ErrNotFound
		}
	}
	for i := range r.answers {
		if a := &r.answers[i]; a.Err == nil && a.View.Expiry != 0 && a.View.Expiry <= int64(r.wall()) {
			*a = Answer{Err: kv.ErrNotFound, Kept: a.Kept, Invalid: a.Invalid}
		}
	}
	return err
}

// maxBytes bounds the memory that one walk keeps, whatever a server's memory says.
const maxBytes = 64 << 20

// Stats is the cost of the last call, whether it failed or not.
func (r *Reader) Stats() offload.Stats { return r.stats }

// own copies the bytes read for key i to the arena. Without room the answer is
// ErrTooLarge.
func (r *Reader) own(i int, block []byte) ([]byte, bool) {
	from := len(r.arena)
	if from+len(block) > maxBytes {
		r.answers[i].Err = fmt.Errorf("%w: more than %d bytes in one walk", ErrTooLarge, maxBytes)
		return nil, false
	}
	r.arena = append(r.arena, block...)
	return r.arena[from:], true
}

// lookup is the lookup of one key. Its references come from reads of the index that
// were posted after since. After a record that is late or stale the walk reads the
// buckets again, once no read for the key is in flight: so the references of the next
// Candidates were read after that Visit, but blocks that Visit is shown until then were
// not.
type lookup struct {
	key          int
	since, again time.Duration // again: since, from the next Candidates on
}

// follower reads the records of candidates.
type follower Reader

// Candidates implements cuckoo/remote.Follower. The read encodes the reference: its
// place, its length, and by Tag its generation.
func (f *follower) Candidates(n int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error) {
	l := &f.lookups[n]
	l.since = max(l.since, l.again)
	for _, r := range refs {
		ref := record.Ref(r)
		if err := f.m.Space.Check(ref); err != nil {
			return dst, fmt.Errorf("kv/remote: %w", err)
		}
		if ref.Bytes() > f.m.Block {
			f.answers[l.key].Err = fmt.Errorf("%w: a record of %d bytes, blocks are %d", ErrTooLarge, ref.Bytes(), f.m.Block)
			continue
		}
		dst = append(dst, offload.Ref{
			Offset: ref.Offset(), Len: uint32(ref.Bytes()), Read: offload.Read{Hop: hop, Region: recordsRegion}, Tag: uint64(ref.Generation()),
		})
	}
	return dst, nil
}

// Visit implements cuckoo/remote.Follower.
func (f *follower) Visit(n int, r offload.Ref, block []byte, dst []offload.Ref) ([]offload.Ref, table.Judgement, offload.Verdict, error) {
	ref := record.RefAt(r.Offset, int(r.Len), uint32(r.Tag))
	l, now := &f.lookups[n], f.now()
	if now-l.since >= record.DefaultGrace {
		l.again = now
		return dst, table.Stale, offload.Accept, nil
	}
	i := l.key
	from := len(f.arena)
	own, ok := (*Reader)(f).own(i, block)
	if !ok {
		return dst, table.Match, offload.Accept, nil
	}
	v, err := f.m.Space.Parse(ref, own, f.keys[i])
	switch {
	case err == nil, errors.Is(err, record.ErrDead): // it was the key's when the index was read
		a := &f.answers[i]
		a.found(v, ref)
		if a.Until = l.since + record.DefaultGrace; err != nil {
			a.Until = 0
		}
		return dst, table.Match, offload.Accept, nil
	case errors.Is(err, record.ErrOtherKey):
		f.arena = f.arena[:from]
		return dst, table.OtherKey, offload.Accept, nil
	case errors.Is(err, record.ErrStale):
		f.arena = f.arena[:from]
		l.again = now
		return dst, table.Stale, offload.Accept, nil
	}
	return dst, 0, 0, fmt.Errorf("kv/remote: %w", err)
}
