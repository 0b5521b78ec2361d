//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// stored is what a member's directory has: values by collection and id.
type stored struct {
	group  int
	values map[storedID]string
}

type storedID struct{ collection, id string }

// tidyTries is how often members start again that have what is not theirs: they drop it when
// moves have ended, and need time for that.
const (
	tidyTries = 3
	tidyPause = 2 * time.Second
)

// inspect ends all members, and reads their directories: each id is in one group, and all members of
// that group have the same, which clients have read.
func (r *round) inspect(ctx context.Context) error {
	r.dismiss()
	m := r.operator.now()
	for try := 1; ; try++ {
		time.Sleep(tidyPause / 4)
		if err := r.endAll(ctx); err != nil {
			return err
		}
		all, err := r.readStores(ctx, m)
		if err != nil {
			return err
		}
		left := elsewhere(all, m)
		if len(left) > 0 && try < tidyTries {
			r.note("%d ids were left in groups that do not have them: %s to %s", len(left), left[0], left[len(left)-1])
			if _, err := r.c.whole(ctx, nil, r.note); err != nil {
				return err
			}
			time.Sleep(tidyPause)
			continue
		}
		if len(left) > 0 {
			r.broken("%d ids are in groups that do not have them: %s to %s", len(left), left[0], left[len(left)-1])
		}
		r.said.mu.Lock()
		defer r.said.mu.Unlock()
		i := len(r.said.contents) - 1
		if i < 0 {
			return errors.New("rounds: clients have read nothing")
		}
		for _, b := range wrongStores(all, m, &r.said.contents[i]) {
			r.broken("%s", b)
		}
		return nil
	}
}

// endAll ends all members as an operator does, the primaries last.
func (r *round) endAll(ctx context.Context) error {
	all, err := r.c.status(ctx)
	if err != nil {
		return err
	}
	for _, primaries := range []bool{false, true} {
		var some []*member
		for _, m := range r.c.present() {
			if (all.of(m.group).Primary == m.Node) == primaries {
				some = append(some, m)
				_ = m.p.Load().Signal(syscall.SIGTERM)
			}
		}
		for _, m := range some {
			if err := m.p.Load().Stop(syscall.SIGTERM); err != nil {
				return err
			}
		}
	}
	return nil
}

// readStores reads the directories of all members.
func (r *round) readStores(ctx context.Context, m *placement.Map) (map[string]*stored, error) {
	all := map[string]*stored{}
	for _, is := range r.c.present() {
		of, err := m.Find(is.group)
		if err != nil {
			return nil, err
		}
		if all[is.Node], err = readStore(ctx, is.data(), int(of)); err != nil {
			return nil, fmt.Errorf("rounds: the store of %s: %w", is.Node, err)
		}
	}
	return all, nil
}

func readStore(ctx context.Context, dir string, group int) (_ *stored, err error) {
	st, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	is, every := &stored{group, map[storedID]string{}}, store.Parts{SlotSet: store.AllSlots()}
	for at := (store.SlotCursor{}); !at.Done; {
		var page []store.MovedState
		if page, at, err = st.SlotScan(ctx, &every, at, 0); err != nil {
			return nil, err
		}
		for _, s := range page {
			is.values[storedID{s.Collection, string(s.ID)}] = string(s.Value)
		}
	}
	return is, nil
}

// elsewhere are the ids that a member has, and its group has not.
func elsewhere(all map[string]*stored, m *placement.Map) (left []string) {
	for node, is := range all {
		for id := range is.values {
			if of := int(m.Of([]byte(id.id))); of != is.group {
				left = append(left, fmt.Sprintf("at %s of %s %s/%s of %s", node, groupName(is.group), id.collection, id.id, groupName(of)))
			}
		}
	}
	slices.Sort(left)
	return left
}

// wrongStores compares what members have with each other, and with what clients have read.
func wrongStores(all map[string]*stored, m *placement.Map, read *Contents) (wrong []string) {
	byGroup := map[int]string{}
	union := map[storedID]bool{}
	for _, node := range slices.Sorted(maps.Keys(all)) {
		is := all[node]
		first, again := byGroup[is.group]
		if !again {
			byGroup[is.group] = node
			for id := range is.values {
				if id.collection != keysName || !isLast(id.id) {
					union[id] = true
				}
			}
			continue
		}
		for id, v := range all[first].values {
			if is.values[id] != v && len(wrong) < mostNamed {
				wrong = append(wrong, fmt.Sprintf("%s and %s have different values of %s/%s", first, node, id.collection, id.id))
			}
		}
		if a, b := len(all[first].values), len(is.values); a != b {
			wrong = append(wrong, fmt.Sprintf("%s has %d ids, and %s has %d", first, a, node, b))
		}
	}
	want := map[storedID]bool{}
	for key := range read.Keys {
		if key < keysOfRound {
			want[storedID{keysName, keyID(key)}] = true
		} else {
			want[storedID{recordsName, keyID(key - keysOfRound)}] = true
		}
	}
	for _, b := range read.Boxes {
		id := strconv.FormatUint(b, 10)
		if in := (storedID{onceName, id}); union[in] {
			want[in] = true
		} else {
			want[storedID{onceRecordsName, id}] = true
		}
	}
	for id := range want {
		if !union[id] && len(wrong) < mostNamed {
			wrong = append(wrong, fmt.Sprintf("clients read %s/%s, which no group has", id.collection, id.id))
		}
	}
	for id := range union {
		if !want[id] && len(wrong) < mostNamed {
			wrong = append(wrong, fmt.Sprintf("%s/%s is in %s, and clients do not read it", id.collection, id.id, groupName(int(m.Of([]byte(id.id))))))
		}
	}
	return wrong
}
