package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/store/disk"
)

// Swap exchanges the names of two collections, at one moment for readers, for writers
// and on disk: one commit of the log changes both. So a collection that was loaded
// beside another one takes its place. Options, features and revisions stay with their
// collection, and so does a *Collection; Store.Collection finds the current one of a
// name. Watchers of both end with ErrSwapped, which is an ErrLagged, too: search again.
//
// ErrUnknownCollection: there is none of one of the names; nothing was changed.
func (st *Store) Swap(a, b string) error {
	if a == b {
		return fmt.Errorf("%w: %q swapped with itself", ErrName, a)
	}
	if err := st.lockNames(); err != nil {
		return err
	}
	defer st.naming.Unlock()
	x, err := st.Collection(a)
	if err != nil {
		return err
	}
	y, err := st.Collection(b)
	if err != nil {
		return err
	}
	return st.runAlone(func() error {
		first := st.number()
		entries := make([]disk.Entry, 0, 2)
		for i, c := range []*Collection{x, y} {
			e, err := c.entryAs([]string{b, a}[i], c.Options(), first+uint64(i))
			if err != nil {
				return err
			}
			entries = append(entries, e)
		}
		if err := st.commit(entries); err != nil {
			return err
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		for i, c := range []*Collection{x, y} {
			c.changed.Store(first + uint64(i))
			c.named.Store(&[]string{b, a}[i])
		}
		st.names[a], st.names[b] = y, x
		return nil
	})
}

// entryAs is its entry in the log with another name, or other options.
func (c *Collection) entryAs(name string, o CollectionOptions, revision uint64) (disk.Entry, error) {
	m := about{CollectionOptions: o}
	if !c.since.IsZero() {
		m.Created = time.Duration(c.since.UnixNano())
	}
	value, err := json.Marshal(m)
	return disk.Entry{Collection: c.num, Kind: disk.Alter, Key: []byte(name), Value: value, Revision: revision}, err
}

func (c *Collection) errSwapped() error {
	return fmt.Errorf("%w: %w: now it is %q", ErrLagged, ErrSwapped, c.Name())
}
