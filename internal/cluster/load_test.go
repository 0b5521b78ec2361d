package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
	load, err := slotLoads(m, groups, ask)
	if err != nil || load[1] != 10 || load[2] != 21 || load[3] != 30 {
		t.Fatal(err)
	}
	if _, err := slotLoads(m, groups[:2], ask); !errors.Is(err, ErrLoad) || !strings.Contains(err.Error(), `group "d" has no members`) {
		t.Error(err)
	}
	away := errors.New("away")
	_, err = slotLoads(m, groups, func(string, string) (*Load, error) { return nil, away })
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
