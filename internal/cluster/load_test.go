package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// The load of slots is asked of the groups that have, or may get, slots, at the primary first; an
// error names the group.
func TestSlotLoads(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c"}, {Name: "d", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for s := range m.Slots {
		m.Slots[s] %= 2 // d has none, like c, and may get some
	}
	groups := []*node.Group{
		{Name: "a", Primary: "n2", Members: []node.Member{{Name: "n1", Addr: "a:1"}, {Name: "n2", Addr: "a:2"}}},
		{Name: "b", Members: []node.Member{{Name: "n1", Addr: "b:1"}}}, {Name: "d", Members: []node.Member{{Name: "n1", Addr: "d:1"}}},
		{Name: "c", Members: []node.Member{{Name: "n1", Addr: "c:1"}}}, {Name: "other", Members: []node.Member{{Name: "n1", Addr: "o:1"}}},
	}
	ask := func(addrs, group string) (*Load, error) {
		l := new(Load)
		switch addrs {
		case "a:2,a:1":
			l[1], l[2] = 10, 20
		case "b:1":
			l[2], l[3] = 5, 30
		case "d:1":
			l[2] = 21
		default:
			return nil, fmt.Errorf("asked %q of %q", addrs, group)
		}
		return l, nil
	}
	all, err := ofGroups(m, groups, ask)
	load := mostOf(all)
	if err != nil || load[1] != 10 || load[2] != 21 || load[3] != 30 {
		t.Fatal(err)
	}
	if _, err := ofGroups(m, groups[:2], ask); !errors.Is(err, ErrLoad) || !strings.Contains(err.Error(), `group "d" has no members`) {
		t.Error(err)
	}
	away := errors.New("away")
	_, err = ofGroups(m, groups, func(string, string) (*Load, error) { return nil, away })
	if !errors.Is(err, away) || !strings.Contains(err.Error(), `group "a" does not answer`) || !strings.Contains(err.Error(), `group "b" does not answer`) {
		t.Error(err)
	}
	var many []node.Member
	for range 20 {
		many = append(many, node.Member{Name: "n", Addr: "x:1"})
	}
	if n := len(addrsOf([]*node.Group{{Name: "x", Members: many}}, "x")); n != maxAsked {
		t.Errorf("%d addresses", n)
	}
}

// counts are the requests of slots in ten minutes.
func counts(of map[int]uint32) *placement.Requests {
	r := &placement.Requests{Over: 10 * time.Minute, Of: 16}
	for s, n := range of {
		r.Counted[s] = n
	}
	return r
}

// Requests are those of an hour, of all groups that have counted some; of too few nothing is planned.
func TestRequestsOfSlots(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	b := counts(map[int]uint32{7: 1000, 9: 1500})
	b.Over = 5 * time.Minute
	load, err := addUp(m, []*placement.Requests{counts(map[int]uint32{7: 1500}), b, nil})
	if err != nil || load[7] != 1500*16*6+1000*16*12 || load[9] != 1500*16*12 || load[1] != 0 {
		t.Errorf("%d and %d, %v", load[7], load[9], err)
	}
	b.Over = 59 * time.Second
	if _, err := addUp(m, []*placement.Requests{b, b, nil}); !errors.Is(err, ErrFewRequests) || !strings.Contains(err.Error(), `group "a" has counted for 59s`) {
		t.Error(err)
	}
	few := counts(map[int]uint32{1: 1999})
	if _, err := addUp(m, []*placement.Requests{few, few, nil}); !errors.Is(err, ErrFewRequests) || !strings.Contains(err.Error(), "3998 in the last minutes, want 4000 for 2 groups") {
		t.Error(err)
	}
}

// A planner by requests spreads hot slots, of which one group has all.
func TestHotSlotsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		m, err := Init(t.Context(), r, []placement.Group{{Name: "g1", Weight: 1}, {Name: "g2", Weight: 1}, {Name: "g3", Weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		go carry(t.Context(), r, 30, 0)
		hot := map[int]uint32{}
		for s, g := range m.Slots {
			if hot[s] = 1; g == 0 && s < 60 {
				hot[s] = 1000
			}
		}
		o := Options{Slots: 20, Tolerance: DefaultTolerance, Load: func(_ context.Context, m *placement.Map) (*Load, error) {
			all := []*placement.Requests{counts(nil), counts(nil), counts(nil)}
			for s, n := range hot {
				all[m.Slots[s]].Counted[s] = n
			}
			return addUp(m, all)
		}}
		_, end := (&machine{registry: r}).start(t, "a", o)
		time.Sleep(20 * every)
		end()
		now := r.now()
		var has [3]int
		for s := range 60 {
			has[now.Slots[s]]++
		}
		if slots, most := r.transfers(); most != 1 || slots > 60 || min(has[0], has[1], has[2]) < 18 {
			t.Errorf("%v of the hot slots; %d have moved, one %d times", has, slots, most)
		}
	})
}
