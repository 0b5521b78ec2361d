package disk

import (
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Report is the result of Check.
type Report struct {
	Format      uint32
	Store       [16]byte
	Collections []Meta
	Keys        uint64            // of state, in all collections
	KeysOf      map[uint32]uint64 // and in each that has some
	Bytes       uint64            // of their values
	First, Last uint64            // revisions in the log; 0, 0: it is empty

	end mark
}

// Check reads a whole data directory that no process has open, and writes nothing but
// the lock file. It checks Pebble's check sums and the order of its tables; that each
// key and value can be decoded; that the log has no gap, reaches the seal, and agrees
// with each collection and each state that changed within it; and that no state is
// newer than the log. The first fault is returned: ErrCorrupt, or the error of the file
// system or Pebble about a file that is shorter or missing. It takes about 50 bytes of
// memory for each key that the log names.
func Check(dir string) (Report, error) { return check(vfs.Default, dir) }

func check(fs vfs.FS, dir string) (r Report, err error) {
	if dir, err = absolute(fs, dir); err != nil {
		return r, err
	}
	id, found, err := readIdentity(fs, dir)
	if err == nil && (!found || !id.ready) {
		what := "is empty"
		if _, serr := fs.Stat(dir); oserror.IsNotExist(serr) {
			what = "does not exist"
		}
		err = fmt.Errorf("%w: %s %s", ErrForeign, dir, what)
	}
	if err != nil {
		return r, err
	}
	l, err := lock(fs, dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	o, err := Options{FS: fs}.withDefaults()
	if err != nil {
		return r, err
	}
	cache := pebble.NewCache(o.CacheBytes)
	defer cache.Unref()
	p, err := openReadOnly(o, cache, fs.PathJoin(dir, pebbleName))
	if err != nil {
		return r, corrupt(err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	r.Format, r.Store = id.format, id.store
	newest, noSeal, err := newestSeal(fs, dir, id)
	if err != nil {
		return r, err
	}
	f, err := inspect(p, newest, noSeal)
	if err == nil {
		err = f.fault()
	}
	if err != nil {
		return r, corrupt(err)
	}
	r.end = f.end
	return r, corrupt((&checker{p: p, r: &r}).run())
}

type checker struct {
	p *pebble.DB
	r *Report
	// The last state in the log of each key that the log names, by the hash
	// of collection and key: two keys of one hash are one in 2^64 pairs.
	said map[uint64]said
	// Collections that the log names, and the revision of their last change.
	metas   map[uint32]said
	dropped map[uint32]uint64 // revision of the last Drop
	applied uint64            // states of later entries may lag
}

type said struct {
	revision uint64
	gone     bool
	lags     bool   // state may have an older one (lag.go)
	size     uint32 // of the value, if it lags
	hash     uint64 // of the state or metadata
}

func (c *checker) run() error {
	if err := c.p.CheckLevels(nil); err != nil {
		return err
	}
	if err := c.strangers(); err != nil {
		return err
	}
	c.r.KeysOf = map[uint32]uint64{}
	c.said, c.metas, c.dropped = map[uint64]said{}, map[uint32]said{}, map[uint32]uint64{}
	var ok bool
	var err error
	if c.applied, ok, err = readApplied(c.p.NewIter); err != nil {
		return err
	} else if !ok {
		c.applied = math.MaxUint64
	}
	if err := c.log(); err != nil {
		return err
	}
	if ok && (c.applied > c.r.Last || c.applied+1 < c.r.First) {
		return fmt.Errorf("%w: state has all up to revision %d, the log is of %d to %d", ErrCorrupt, c.applied, c.r.First, c.r.Last)
	}
	if err := c.collections(); err != nil {
		return err
	}
	return c.state()
}

// each calls f for the keys of a range.
func (c *checker) each(from, to []byte, f func(k, v []byte) error) (err error) {
	it, err := c.p.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f(it.Key(), v); err != nil {
			return err
		}
	}
	return it.Error()
}

// strangers checks that there are no keys but ours.
func (c *checker) strangers() error {
	stranger := func(k, _ []byte) error { return fmt.Errorf("%w: key %x is none of ours", ErrCorrupt, k) }
	return errors.Join(c.each(nil, []byte{metaPrefix}, stranger), c.each([]byte{endPrefix}, nil, stranger))
}

func keyHash(k []byte) uint64 { return xxhash.Sum64(k) }

func (c *checker) log() error {
	key := make([]byte, 0, collectionBytes+MaxKeyBytes)
	state := []byte(nil)
	return c.each([]byte{logPrefix}, []byte{logPrefix + 1}, func(k, v []byte) error {
		revision, err := parseLogKey(k)
		if err != nil {
			return err
		}
		if c.r.First == 0 {
			c.r.First = revision
		} else if revision != c.r.Last+1 {
			return fmt.Errorf("%w: the log goes on with revision %d after %d", ErrCorrupt, revision, c.r.Last)
		}
		c.r.Last = revision
		n, err := parseEntry(revision, v)
		if err != nil {
			return err
		}
		switch n.Kind {
		case Put, Delete:
			key = append(append(key[:0], collectionKey(statePrefix, n.Collection)...), n.Key...)
			state = append(append(state[:0], make([]byte, stateHeader)...), n.Value...)
			putStateHeader(state, revision, n.Expiry, n.Flags)
			s := said{revision: revision, gone: n.Kind == Delete, hash: xxhash.Sum64(state)}
			if n.lags() && revision > c.applied {
				s.lags, s.size = true, uint32(len(n.Value))
			}
			c.said[keyHash(key)] = s
		case Create, Alter:
			c.metas[n.Collection] = said{revision: revision, hash: xxhash.Sum64(append(append([]byte(nil), n.Key...), n.Value...))}
		case Drop:
			c.metas[n.Collection] = said{revision: revision, gone: true}
			c.dropped[n.Collection] = revision
		}
		return nil
	})
}

func (c *checker) collections() (err error) {
	if c.r.Collections, err = readCollections(c.p.NewIter); err != nil {
		return err
	}
	live := map[uint32]bool{}
	for _, m := range c.r.Collections {
		live[m.Collection] = true
		s, ok := c.metas[m.Collection]
		if m.Changed > c.r.Last || m.Created > m.Changed || m.Created == 0 || ok != (m.Changed >= c.r.First) ||
			ok && (s.gone || s.revision != m.Changed || s.hash != xxhash.Sum64(append([]byte(m.Name), m.Metadata...))) {
			return fmt.Errorf("%w: collection %d, %q, changed at revision %d, is not what the log says", ErrCorrupt, m.Collection, m.Name, m.Changed)
		}
	}
	for n, s := range c.metas {
		if !s.gone && !live[n] {
			return fmt.Errorf("%w: collection %d of revision %d is missing", ErrCorrupt, n, s.revision)
		}
	}
	return nil
}

func (c *checker) state() error {
	created := map[uint32]uint64{}
	for _, m := range c.r.Collections {
		created[m.Collection] = m.Created
	}
	err := c.each([]byte{statePrefix}, []byte{statePrefix + 1}, func(k, v []byte) error {
		n, key, err := parseCollection(k)
		if err != nil {
			return err
		}
		value, revision, _, _, err := parseState(v)
		if err != nil {
			return fmt.Errorf("collection %d, key %q: %w", n, key, err)
		}
		c.r.Keys++
		c.r.KeysOf[n]++
		h := keyHash(k)
		s, ok := c.said[h]
		delete(c.said, h)
		later := s.lags && revision < s.revision
		if c.r.Bytes += uint64(len(value)); later {
			c.r.Bytes += uint64(s.size) - uint64(len(value))
		}
		since, known := created[n]
		switch {
		case !known || len(key) == 0 || revision <= since:
			err = fmt.Errorf("%w: collection %d, known: %v, since revision %d, key %q of revision %d", ErrCorrupt, n, known, since, key, revision)
		case revision > c.r.Last:
			err = fmt.Errorf("%w: collection %d, key %q: revision %d, the log ends at %d", ErrCorrupt, n, key, revision, c.r.Last)
		case later: // The log is newer.
		case ok != (revision >= c.r.First), ok && (s.gone || s.revision != revision || s.hash != xxhash.Sum64(v)):
			err = fmt.Errorf("%w: collection %d, key %q of revision %d is not what the log says at %d", ErrCorrupt, n, key, revision, s.revision)
		}
		return err
	})
	if err != nil {
		return err
	}
	// The rest of c.said must have no state: deleted, or dropped with the collection.
	return c.each([]byte{logPrefix}, []byte{logPrefix + 1}, func(k, v []byte) error {
		revision, err := parseLogKey(k)
		if err != nil {
			return err
		}
		n, err := parseEntry(revision, v)
		if err != nil || n.Kind != Put || c.dropped[n.Collection] > revision {
			return err
		}
		s, ok := c.said[keyHash(stateKey(n.Collection, n.Key))]
		if ok && s.revision == revision {
			return fmt.Errorf("%w: collection %d, key %q of revision %d is missing", ErrCorrupt, n.Collection, n.Key, revision)
		}
		return nil
	})
}
