package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
)

// keeper is an honest client of records. It alone writes its keys, one at a
// time, so it knows the state of each.
type keeper struct {
	r      *catfish.Records
	prefix string
	has    [keeperKeys]state
	writes uint64
	asked  int
}

// state is the state of a key.
type state struct {
	unknown  bool // a write failed: it may have succeeded
	value    uint64
	revision uint64 // 0: there is no record
	expires  time.Time
}

const (
	keeperKeys = 64
	// scanEvery is the number of operations for each scan, which takes long.
	scanEvery = 100
	// lateExpiry is how long after its expiry, by this process's clock, a record
	// may exist: the server's clock has been independent since it started.
	lateExpiry = time.Second
)

// newKeepers connects honest clients of records over each transport.
func newKeepers(ctx context.Context, t Target) (all []*honest, err error) {
	for _, o := range []struct{ name, transport, policy string }{
		{"records, shm", "shm", ""}, {"records, soft", "soft", "offload-cached"}, {"records, plain sockets", "tcp", "tcp"},
	} {
		c, err := catfish.Dial(ctx, t.Addr, catfish.Options{
			Transport: o.transport, Policy: o.policy, Logger: discard(), DialTimeout: patience,
		})
		if err != nil {
			return all, fmt.Errorf("attack: client of %s: %w", o.name, err)
		}
		h := &honest{name: o.name, close: func() { c.Close() }}
		all = append(all, h)
		r, err := c.Records(recordsName)
		if err != nil {
			return all, fmt.Errorf("attack: client of %s: %w", o.name, err)
		}
		h.ask = newKeeper(r).ask
	}
	return all, nil
}

func newKeeper(r *catfish.Records) *keeper {
	return &keeper{r: r, prefix: fmt.Sprintf("honest-%016x-", rand.Uint64())}
}

func (k *keeper) key(i int) []byte { return fmt.Appendf(nil, "%s%d", k.prefix, i) }

// valueOf is the value of a write, of up to 2,000 bytes.
func valueOf(write uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, write)
	return append(b, bytes.Repeat([]byte{byte(write)}, int(write*0x9e3779b97f4a7c15>>32%2000))...)
}

// ask makes one operation and checks its answer.
func (k *keeper) ask(ctx context.Context) error {
	k.asked++
	i := rand.IntN(keeperKeys)
	switch n := rand.IntN(10); {
	case k.asked%scanEvery == 0:
		return k.scan(ctx)
	case n < 3:
		return k.put(ctx, i)
	case n == 3:
		return k.remove(ctx, i)
	case n == 4:
		return k.getMany(ctx)
	default:
		return k.get(ctx, i)
	}
}

// check compares what an operation since begun found, revision 0: nothing, with
// the key's state.
func (k *keeper) check(i int, begun time.Time, value []byte, revision uint64) error {
	s := &k.has[i]
	if s.unknown {
		return nil
	}
	if !s.expires.IsZero() && begun.After(s.expires.Add(lateExpiry)) {
		*s = state{}
	}
	mayBeOver := !s.expires.IsZero() && time.Now().Add(lateExpiry).After(s.expires)
	switch {
	case revision == 0 && s.revision != 0 && !mayBeOver:
		return fmt.Errorf("%w: key %d has no record, want write %d", errWrong, i, s.value)
	case revision != 0 && revision != s.revision:
		return fmt.Errorf("%w: key %d has revision %d, want %d", errWrong, i, revision, s.revision)
	case revision != 0 && !bytes.Equal(value, valueOf(s.value)):
		return fmt.Errorf("%w: key %d has another value, %d bytes", errWrong, i, len(value))
	}
	return nil
}

// put writes under a condition that holds or does not, or under none.
func (k *keeper) put(ctx context.Context, i int) error {
	s := &k.has[i]
	k.writes++
	rec := catfish.Record{Key: k.key(i), Value: valueOf(k.writes)}
	if rand.IntN(4) == 0 {
		rec.Expires = time.Now().Add(50 * time.Millisecond)
	}
	var cond kv.Condition
	var refused error
	if !s.unknown && s.expires.IsZero() {
		switch rand.IntN(4) {
		case 0:
			if cond.IfAbsent = true; s.revision != 0 {
				refused = kv.ErrExists
			}
		case 1:
			if cond.IfRevision = max(s.revision, 1); s.revision == 0 {
				refused = kv.ErrConflict
			}
		}
	}
	revision, err := k.r.Put(ctx, rec, cond)
	switch {
	case errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrConflict), err == nil:
		if !errors.Is(err, refused) {
			return fmt.Errorf("%w: put of key %d, which has revision %d, under %+v: %w, want %w", errWrong, i, s.revision, cond, err, refused)
		}
		if err == nil {
			*s = state{value: k.writes, revision: revision, expires: rec.Expires}
		}
		return nil
	}
	s.unknown = true
	return err
}

func (k *keeper) remove(ctx context.Context, i int) error {
	begun := time.Now()
	err := k.r.Delete(ctx, k.key(i), kv.Condition{})
	s := &k.has[i]
	switch {
	case errors.Is(err, kv.ErrNotFound):
		err = k.check(i, begun, nil, 0)
		if !s.expires.IsZero() {
			return err // An offloading reader may see it a little longer: lateExpiry.
		}
	case err != nil:
		s.unknown = true
		return err
	case s.revision == 0 && !s.unknown:
		err = fmt.Errorf("%w: deleted key %d, which has no record", errWrong, i)
	}
	*s = state{}
	return err
}

func (k *keeper) get(ctx context.Context, i int) error {
	begun := time.Now()
	rec, err := k.r.Get(ctx, k.key(i), nil)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	return k.check(i, begun, rec.Value, rec.Revision)
}

func (k *keeper) getMany(ctx context.Context) error {
	begun := time.Now()
	var keys [][]byte
	for i := range keeperKeys {
		keys = append(keys, k.key(i))
	}
	recs, err := k.r.GetMany(ctx, keys, nil)
	if err != nil {
		return err
	}
	for i := range recs {
		if err := k.check(i, begun, recs[i].Value, recs[i].Revision); err != nil {
			return fmt.Errorf("get of many: %w", err)
		}
	}
	return nil
}

// scan finds its own records among those of others, which write meanwhile: it
// may fail for that reason.
func (k *keeper) scan(ctx context.Context) error {
	begun := time.Now()
	var found [keeperKeys]catfish.Record
	for rec, err := range k.r.Scan(ctx) {
		if errors.Is(err, cuckoo.ErrScanLost) {
			return nil
		}
		if err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(string(rec.Key), k.prefix); ok {
			i := -1
			if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i < 0 || i >= keeperKeys {
				return fmt.Errorf("%w: scan: key %q, which nobody put", errWrong, rec.Key)
			}
			found[i] = rec
			found[i].Value = bytes.Clone(rec.Value)
		}
	}
	for i := range found {
		if err := k.check(i, begun, found[i].Value, found[i].Revision); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
	}
	return nil
}
