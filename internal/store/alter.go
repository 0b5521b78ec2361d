package store

import (
	"cmp"
	"fmt"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// textsFlag in the flags of an Alter: the collection keeps its name, and only its texts
// have changed. So its watchers continue.
const textsFlag = 4

// Alter replaces the title and the description of a collection, durably. Its space
// cannot change, as features were checked by it. ErrUnknownCollection: there is none of
// the name. ErrOptions: o has another space. ErrNotPermitted: Options.Collections has other
// options for the name, and the next start would set them again.
//
// After a restart, watchers cannot resume from before an Alter (disk.ErrTrimmed).
func (st *Store) Alter(name string, o CollectionOptions) error {
	if err := cmp.Or(st.Ready(), st.mayHave(name, o)); err != nil {
		return err
	}
	if err := st.lock(true); err != nil {
		return err
	}
	defer st.naming.Unlock()
	c, err := st.Collection(name)
	if err != nil {
		return err
	}
	switch has := c.Options(); {
	case has.Space != o.Space:
		return fmt.Errorf("%w: %q has %s, which cannot be altered", ErrOptions, name, CollectionOptions{Space: has.Space}.Differs(CollectionOptions{Space: o.Space}))
	case has == o:
		return nil
	}
	return st.runAlone(func() error {
		e, err := c.entryAs(name, o, st.number())
		if err != nil {
			return err
		}
		e.Flags = textsFlag
		if err := st.commit([]disk.Entry{e}); err != nil {
			return err
		}
		c.altered.Store(&o)
		return nil
	})
}
