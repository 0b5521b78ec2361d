package replica

import (
	"slices"
	"time"
)

// maxResults bounds what is kept for each client, and so how many writes a client may
// have under way.
const maxResults = 1024

// Results are the writes that the log holds, by client and number, so that one that is
// repeated is not made twice. All members have them, from the entries.
type Results map[uint64]*Client

// Client is what is known of one client's writes.
type Client struct {
	Writes []Result // by Number, rising
	// Forgotten is the greatest number that is not in Writes any more: the outcome
	// of a number up to here is unknown unless Writes has it.
	Forgotten uint64

	last time.Duration // of its writes, when it came, or was read from the disk
}

// Result is a write and the entry that it became.
type Result struct{ Number, Revision uint64 }

// find returns the revision of a write. known is false if it may have been forgotten.
func (rs Results) find(client, number uint64) (revision uint64, known bool) {
	c := rs[client]
	if c == nil {
		return 0, true
	}
	i, ok := slices.BinarySearchFunc(c.Writes, number, Result.compare)
	if ok {
		return c.Writes[i].Revision, true
	}
	return 0, number > c.Forgotten
}

func (r Result) compare(number uint64) int {
	switch {
	case r.Number < number:
		return -1
	case r.Number > number:
		return 1
	}
	return 0
}

// add notes an entry. Entries of client 0 are not noted.
func (rs Results) add(e Entry, revision uint64, now time.Duration) {
	if e.Client == 0 {
		return
	}
	c := rs[e.Client]
	if c == nil {
		c = &Client{}
		rs[e.Client] = c
	}
	c.last = now
	i, _ := slices.BinarySearchFunc(c.Writes, e.Number, Result.compare)
	c.Writes = slices.Insert(c.Writes, i, Result{e.Number, revision})
	if len(c.Writes) > maxResults {
		c.Forgotten = max(c.Forgotten, c.Writes[0].Number)
		c.Writes = slices.Delete(c.Writes, 0, 1)
	}
}

// cut forgets the writes after a revision: they were undone.
func (rs Results) cut(revision uint64) {
	for _, c := range rs {
		c.Writes = slices.DeleteFunc(c.Writes, func(r Result) bool { return r.Revision > revision })
	}
}
