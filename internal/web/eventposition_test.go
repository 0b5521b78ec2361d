package web

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/placement"
)

// An id of an event is the position that it was made of.
func TestPositionText(t *testing.T) {
	groups := &placement.WatchPosition{Epoch: 3, Groups: []placement.GroupPosition{{History: 1, Revision: 2}, {History: math.MaxUint64, Revision: 4}}}
	most := &placement.WatchPosition{Groups: slices.Repeat([]placement.GroupPosition{{History: math.MaxUint64, Revision: math.MaxUint64}}, placement.MaxGroups)}
	for _, p := range []position{
		{revision: 7, history: 0xaa}, {revision: 7, next: mark{true, true, "a-b.c"}},
		{groups: groups}, {groups: groups, next: mark{true, false, ""}}, {groups: most, group: placement.MaxGroups - 1, next: mark{true, true, "a-b.c"}},
	} {
		if got, err := positionOf(p.String()); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: %+v, %v, want %+v", p, got, err, p)
		}
	}
}
