package store

import (
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store/disk"
)

// Spec says what a collection holds.
type Spec struct {
	Boxes   bool              // boxes (CreateBoxes); if not set, features
	Options CollectionOptions // of features
	// For is for the Owner, to recognise its own calls.
	For any
}

// Made is a collection of one of the two kinds.
type Made struct {
	Features *Collection
	Boxes    *Boxes
}

// Create creates a collection of features, unless there is one of that name with the
// same options. ErrCollectionExists: it has others, or holds boxes.
func (st *Store) Create(name string, o CollectionOptions) (*Collection, error) {
	m, err := st.CreateAs(name, Spec{Options: o})
	return m.Features, err
}

// CreateBoxes creates a collection of boxes, unless there is one of that name.
// ErrCollectionExists: there is one of features. ErrOptions: the store has no data
// directory. Versions without collections of boxes refuse the data directory from now
// on (disk.ErrFormat).
func (st *Store) CreateBoxes(name string) (*Boxes, error) {
	m, err := st.CreateAs(name, Spec{Boxes: true})
	return m.Boxes, err
}

// CreateAs is Create or CreateBoxes. The names of both kinds are one space.
func (st *Store) CreateAs(name string, s Spec) (Made, error) {
	switch {
	case s.Boxes && st.o.Dir == "":
		return Made{}, fmt.Errorf("%w: boxes %q cannot be kept without a data directory", ErrOptions, name)
	case s.Options.Space > feature.Planar:
		return Made{}, fmt.Errorf("%w: space %d", ErrOptions, s.Options.Space)
	}
	if m, err := st.made(name, s); m != (Made{}) || err != nil {
		return m, err
	}
	if err := CheckName(name); err != nil {
		return Made{}, err
	}
	if st.o.Owner != nil {
		return st.o.Owner.Create(name, s, func() (Made, error) { return st.create(name, s) })
	}
	return st.create(name, s)
}

// made returns the collection of a name, if it is as s says; none: the name is free.
func (st *Store) made(name string, s Spec) (m Made, err error) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	c, b := st.names[name], st.boxes[name]
	switch {
	case st.closed:
		return m, ErrClosed
	case c != nil && s.Boxes:
		return m, fmt.Errorf("%w: %q has features", ErrCollectionExists, name)
	case b != nil && !s.Boxes:
		return m, fmt.Errorf("%w: %q has boxes", ErrCollectionExists, name)
	case c != nil && c.Options() != s.Options:
		return m, c.Options().CheckSame(name, s.Options)
	}
	return Made{c, b}, nil
}

func (st *Store) create(name string, s Spec) (Made, error) {
	if err := st.lockNames(); err != nil {
		return Made{}, err
	}
	defer st.naming.Unlock()
	if m, err := st.made(name, s); m != (Made{}) || err != nil {
		return m, err // It was created meanwhile.
	}
	if s.Boxes {
		b, err := st.createBoxes(name)
		return Made{Boxes: b}, err
	}
	c, err := st.createFeatures(name, about{s.Options, st.now()})
	return Made{Features: c}, err
}

func (st *Store) createFeatures(name string, meta about) (*Collection, error) {
	value, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	c, err := st.make(name, st.newNumber(), meta)
	if err != nil {
		return nil, err
	}
	err = st.runAlone(func() error {
		c.created = st.number()
		c.changed.Store(c.created)
		return st.createNamed(disk.Entry{Collection: c.num, Key: []byte(name), Value: value, Revision: c.created}, func() {
			st.names[name], st.nums[c.num] = c, c
		})
	})
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (st *Store) createBoxes(name string) (*Boxes, error) {
	c, err := st.makeBoxes(name, st.newNumber())
	if err != nil {
		return nil, err
	}
	err = st.runAlone(func() error {
		if err := st.db.Require(boxesFormat); err != nil {
			return err
		}
		value := metadata{Kind: boxesKind}.encode()
		return st.createNamed(disk.Entry{Collection: c.num, Key: []byte(name), Value: value, Revision: st.number()}, func() {
			st.boxes[name] = c
		})
	})
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// createNamed commits a create, and then changes the maps.
func (st *Store) createNamed(e disk.Entry, change func()) error {
	e.Kind = disk.Create
	if err := st.commit([]disk.Entry{e}); err != nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	change()
	return nil
}
