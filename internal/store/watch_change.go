package store

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// change is an entry of the log as watchers need it. It is immutable.
type change struct {
	collection uint32
	kind       disk.Kind
	expired    bool // a Delete for that reason
	texts      bool // an Alter of nothing else
	revision   uint64
	id         string
	now, old   *Found // nil: there is none
	states     [2]Found
}

// expiredFlag in the flags of a Delete: the feature had expired. In those of a Put that has
// a name: it replaced one that had expired, so that for its client there was none.
const expiredFlag = 1

// changeOf takes over the bytes of an entry; open finds the View in a value.
func changeOf(e *disk.Entry, at time.Duration, open func([]byte) (feature.View, error)) (*change, error) {
	c := &change{collection: e.Collection, kind: e.Kind, revision: e.Revision, texts: e.Kind == disk.Alter && e.Flags&textsFlag != 0}
	if e.Kind != disk.Put && e.Kind != disk.Delete || e.Flags&(boxFlag|recordFlag|movedFlag) != 0 {
		return c, nil
	}
	c.id = string(e.Key)
	c.expired = e.Kind == disk.Delete && e.Flags&expiredFlag != 0
	if e.Kind == disk.Put {
		c.now = &c.states[0]
		*c.now = Found{ID: e.Key, Value: e.Value, Revision: e.Revision, Expiry: time.Duration(e.Expiry), Now: at}
	}
	if e.OldRevision != 0 {
		c.old = &c.states[1]
		*c.old = Found{ID: e.Key, Value: e.Old, Revision: e.OldRevision, Expiry: time.Duration(e.OldExpiry), Now: at}
	}
	for _, f := range []*Found{c.now, c.old} {
		if f == nil {
			continue
		}
		var err error
		if f.View, err = open(f.Value); err != nil {
			return nil, fmt.Errorf("%w: revision %d of %q in the log of %d: %w", ErrCorrupt, f.Revision, c.id, c.revision, err)
		}
	}
	return c, nil
}

// bytes that the ring counts.
func (c *change) bytes() int64 {
	return int64(int(unsafe.Sizeof(*c)) + 2*len(c.id) + len(c.states[0].Value) + len(c.states[1].Value))
}

// boxes of the feature, before and after, or where the tree has it without a geometry.
func (c *change) boxes(dst []feature.Box) []feature.Box {
	for _, f := range []*Found{c.now, c.old} {
		switch {
		case f == nil:
		case f.View.Type() == feature.None:
			dst = append(dst, feature.Box(nowhere))
		default:
			dst = f.View.Boxes(dst)
		}
	}
	return dst
}
