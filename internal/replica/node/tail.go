package node

import (
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/journal"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// tail is the end of the log in memory: entries that are not in the store yet, and, for
// followers, the last ones that are.
type tail struct {
	mu      sync.Mutex
	first   uint64 // revision of entries[0]
	entries []disk.Entry
	bytes   int64
}

// tailBytes is how much is kept for followers, which otherwise read the store's log.
const tailBytes = 32 << 20

func newTail(s *journal.State) *tail {
	t := &tail{first: s.First, entries: s.Entries}
	for i := range t.entries {
		t.bytes += int64(t.entries[i].Bytes())
	}
	return t
}

// append adds entries, and returns them as the disk has them.
func (t *tail) append(first uint64, all []replica.Entry) []disk.Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := len(t.entries)
	for i := range all {
		var e disk.Entry
		if all[i].Term != 0 && all[i].Data == nil {
			e = disk.TermEntry(first+uint64(i), all[i].Term)
		} else {
			e = *all[i].Data.(*disk.Entry)
		}
		t.entries = append(t.entries, e)
		t.bytes += int64(e.Bytes())
	}
	return t.entries[at:len(t.entries):len(t.entries)]
}

func (t *tail) truncate(after uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := int(after + 1 - t.first)
	if after+1 < t.first {
		t.first, keep = after+1, 0
	}
	for i := keep; i < len(t.entries); i++ {
		t.bytes -= int64(t.entries[i].Bytes())
	}
	// Readers hold parts of the slice: it is not written again.
	t.entries = t.entries[:keep:keep]
}

// trim forgets entries that the store has, if there are more than are kept for followers:
// half of these, since it copies the others.
func (t *tail) trim(stored uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes <= tailBytes {
		return
	}
	n := 0
	for t.bytes > tailBytes/2 && n < len(t.entries) && t.first+uint64(n) <= stored {
		t.bytes -= int64(t.entries[n].Bytes())
		n++
	}
	if n > 0 {
		t.entries = append([]disk.Entry(nil), t.entries[n:]...)
		t.first += uint64(n)
	}
}

// after returns entries after a revision, up to one, of about a number of bytes, and no part
// of a write. ok is false if the tail begins later.
func (t *tail) after(prev, through uint64, bytes int) (entries []disk.Entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if prev+1 < t.first {
		return nil, false
	}
	at := int(prev + 1 - t.first)
	n := at
	for n < len(t.entries) && t.first+uint64(n) <= through && (n == at || bytes > 0 || t.entries[n-1].Flags&disk.Continues != 0) {
		bytes -= t.entries[n].Bytes()
		n++
	}
	if at > n {
		return nil, true
	}
	return t.entries[at:n:n], true
}

// read is after, from the store's log if the tail begins later.
func (n *Node) read(prev, through uint64, bytes int) ([]disk.Entry, error) {
	if entries, ok := n.tail.after(prev, through, bytes); ok {
		return entries, nil
	}
	it, err := n.o.Store.Log(prev + 1)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var entries []disk.Entry
	continues := false
	for (bytes > 0 || continues) && prev < through && it.Next() {
		e := it.Entry()
		continues = e.Flags&disk.Continues != 0
		entries = append(entries, e)
		bytes -= e.Bytes()
		prev = e.Revision
	}
	if it.Err() == nil && len(entries) == 0 && prev < through {
		return nil, fmt.Errorf("replica: the log ends with revision %d, want %d", prev, through)
	}
	return entries, it.Err()
}
