//go:build linux

package rounds

import (
	"fmt"
	"strings"
	"sync"

	"github.com/catfish-index/catfish/internal/placement"
)

// keyIDs are the ids of keys: of several groups the first one has half of them, the last one the others,
// also if it has few slots.
var keyIDs = sync.OnceValue(func() (ids [keysOfRound]string) {
	for key := range ids {
		first := key % 2 * (placement.Slots - drainedSlots)
		ids[key] = idIn(fmt.Sprintf("k%d", key), func(slot uint16) bool { return int(slot) >= first && int(slot) < first+drainedSlots })
	}
	return ids
})

func keyID(key int) string { return keyIDs()[key] }

// idIn is an id with a prefix, in some slot.
func idIn(prefix string, in func(slot uint16) bool) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("%s-%d", prefix, i); in(placement.SlotOf([]byte(id))) {
			return id
		}
	}
}

// lastID is of a write of a process after which it awaits no event of a key. The group that has the
// key has it, too.
func lastID(process, key int) string {
	of := placement.SlotOf([]byte(keyID(key)))
	return idIn(fmt.Sprintf("last%d-%d", process, key), func(slot uint16) bool { return slot == of })
}

func isLast(id string) bool { return strings.HasPrefix(id, "last") }
