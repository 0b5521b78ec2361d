package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Spec says what a collection holds. The zero value is of features.
type Spec struct {
	Kind     Kind
	Keep     bool              // boxes or records in the log, which are durable
	Features CollectionOptions // of features
	Records  RecordsOptions    // of records
	// Loading: it is about to be filled, and not ready until Entry.SetReady.
	Loading bool
	// Permanent: it cannot be dropped.
	Permanent bool
	// As is the name of the write that creates the collection, if it may be repeated.
	As Name
	// OfClients: clients may drop it, as if one of them had created it.
	OfClients bool
	// Account counts the collection for the client that creates it; nil: the server's
	// owner does. It is closed when the collection has gone, or if it is not created.
	Account *limits.Account
}

// RecordsOptions are those of a collection of records.
type RecordsOptions struct {
	Table  cuckoo.Kind // how the key index makes room
	Items  int         // of a bucket of the key index; 0: cuckoo.MaxItems
	Shards int         // divide the keys; 0, 1: not divided
	// MaxBytes, if not 0, makes it a cache with this limit (kv.Options.MaxBytes), of which
	// each shard has an equal part. For a collection that the store has, 0: as it is.
	MaxBytes int64
}

// Named is the spec of a collection.
type Named struct {
	Name string
	Spec
}

// spec returns what the store's options say of a name.
func (st *Store) spec(name string) (s Spec, named bool) {
	i := slices.IndexFunc(st.o.Collections, func(n Named) bool { return n.Name == name })
	if i < 0 {
		return s, false
	}
	return st.o.Collections[i].Spec, true
}

// keeps reports whether a collection of boxes or records is to be kept. The members of a
// group all have its records.
func (st *Store) keeps(s *Spec) bool { return s.Keep || st.o.Replicated && s.Kind == KindRecords }

// durable reports whether the collection is to be in the store's log.
func (s *Spec) durable() bool { return s.Kind == KindFeatures || s.Keep }

// Create creates a collection, unless there is one of that name, with the same options.
// ErrKind: it is of another kind. ErrCollectionExists: it has other options.
// ErrNotReady: the store is being loaded, and may have it. ErrNotPermitted: boxes or records
// are to be kept, and there is no data directory. Versions without kept boxes, or records,
// refuse a data directory from their first creation on (disk.ErrFormat). In a group all
// records are kept.
func (st *Store) Create(name string, s Spec) (*Entry, error) {
	s.Keep = st.keeps(&s)
	if st.closed.Load() {
		s.Account.Close()
		return nil, ErrClosed
	}
	if e := st.named(name); e == nil && (s.durable() || s.Account != nil) {
		// For what is in memory alone, the owner need not wait. A client must not take a
		// name that the directory has.
		if err := st.Ready(); s.durable() && err != nil || errors.Is(err, fault.ErrNotReady) {
			s.Account.Close()
			return nil, err
		}
	}
	return st.create(name, s)
}

// CreateFeatures is Create of a collection of features.
func (st *Store) CreateFeatures(name string, o CollectionOptions) (*Collection, error) {
	e, err := st.Create(name, Spec{Features: o})
	if err != nil {
		return nil, err
	}
	return e.Features, nil
}

// create is Create also while the store is being loaded.
func (st *Store) create(name string, s Spec) (e *Entry, err error) {
	made := false
	defer func() {
		if !made {
			s.Account.Close()
		}
		if err != nil {
			e = nil
		}
	}()
	if e = st.named(name); e != nil {
		return e, e.fits(&s) // Also if the disk has failed, or an earlier version allowed the name.
	}
	switch err := CheckName(name); {
	case err != nil:
		return nil, err
	case s.Keep && st.o.Dir == "":
		return nil, fmt.Errorf("%w: %w: %s %q cannot be kept without a data directory", fault.ErrNotPermitted, ErrOptions, s.Kind, name)
	case s.Features.Space > feature.Planar:
		return nil, fmt.Errorf("%w: space %d", ErrOptions, s.Features.Space)
	}
	if err := st.lock(s.durable()); err != nil {
		return nil, err
	}
	defer st.naming.Unlock()
	if e = st.named(name); e != nil {
		return e, e.fits(&s) // It was created meanwhile.
	}
	switch was, done, err := st.done(&s.As); {
	case err != nil:
		return nil, err
	case done:
		return nil, fmt.Errorf("%w: %q was created by this request, as revision %d, and dropped since", ErrUnknownCollection, name, was.revision)
	}
	if err := s.Account.Take(int64(s.shards())); err != nil {
		return nil, err
	}
	e = st.newEntry(name, &s)
	if err := st.giveNumbers(e); err != nil {
		return nil, err
	}
	if err := st.build(e, &s); err != nil {
		return nil, err
	}
	if err := st.log(e, s.As); err != nil {
		e.close()
		return nil, err
	}
	made = true
	return e, nil
}

// about is the log's metadata of a collection of features besides its name, as JSON.
type about struct {
	CollectionOptions
	Created time.Duration `json:"created,omitempty"` // since the Unix epoch
}

// log commits the creation of a collection that has one in the log, and enters it. naming
// is held.
func (st *Store) log(e *Entry, as Name) error {
	if !e.durable() {
		st.enter(e)
		return nil
	}
	de := disk.Entry{Kind: disk.Create, Collection: st.newNumber(), Key: []byte(e.Name)}
	switch {
	case e.Features != nil:
		c := e.Features
		m := about{c.o, st.now()}
		var err error
		if de.Value, err = json.Marshal(m); err != nil {
			return err
		}
		c.num, c.since = de.Collection, time.Unix(0, int64(m.Created)).UTC()
	case e.Kept != nil:
		de.Value, e.Kept.num = recordsMetadata(e.Kept.o).encode(), de.Collection
	default:
		de.Value, e.Boxes.num = metadata{Kind: boxesKind}.encode(), de.Collection
	}
	return st.runAlone(func() error {
		if err := st.requires(e); err != nil {
			return err
		}
		de.Revision = st.number()
		st.name(&de, as)
		if c := e.Features; c != nil {
			c.created = de.Revision
			c.changed.Store(de.Revision)
		}
		if err := st.commit([]disk.Entry{de}); err != nil {
			return err
		}
		st.enter(e)
		return nil
	})
}

// requires raises the format of the data directory to the one that has the collection.
func (st *Store) requires(e *Entry) error {
	switch {
	case e.Boxes != nil:
		return st.db.Require(boxesFormat)
	case e.Kept != nil:
		return st.db.Require(recordsFormat)
	}
	return nil
}
