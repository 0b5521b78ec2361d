package store

import (
	"github.com/catfish-index/catfish/store/disk"
)

// Tidy carries out some pieces of maintenance, 0.2 us each:
// places of dead records are freed, the key index grows, expired features
// are deleted. It reports whether there may be more. A caller runs it each 10 ms or so.
func (c *Collection) Tidy(pieces int) (more bool) {
	if c.use() != nil {
		return false
	}
	defer c.using.leave()
	more = c.set.m.Tidy(pieces)
	for _, x := range c.set.takeExpired() {
		c.st.submit(&write{
			coll: c, kind: disk.Delete, id: x.id, expired: x.revision,
			done: func(_ uint64, err error) {}, // It was written since, or will be tried again.
		})
	}
	return more
}
