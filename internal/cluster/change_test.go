package cluster

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// exist makes groups.
func (r *registry) exist(names ...string) {
	for _, name := range names {
		if _, err := r.SwapIf(r.t.Context(), node.Key(name), 0, []byte(`{}`)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// refused checks an error's text, too.
func refused(t *testing.T, err, want error, says string) {
	t.Helper()
	if !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %v: %s", err, want, says)
	}
}

// A map begins before its groups, or with one group that exists.
func TestInit(t *testing.T) {
	one, two := []placement.Group{{Name: "a", Weight: 1}}, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 3}}
	for _, c := range []struct {
		exist  []string
		groups []placement.Group
		want   error
		says   string
	}{
		{nil, two, nil, ""},
		{[]string{"c"}, two, nil, ""},
		{[]string{"b"}, two, ErrRefused, "groups/b exists"},
		{nil, one, nil, ""},
		{[]string{"a", "b"}, one, nil, ""},
		{nil, []placement.Group{{Name: "a"}}, placement.ErrMap, "weight 0"},
	} {
		r := newRegistry(t)
		r.exist(c.exist...)
		m, err := Init(t.Context(), r, c.groups)
		if c.want != nil {
			refused(t, err, c.want, c.says)
			if r.now() != nil {
				t.Errorf("%+v: there is a map", c)
			}
			continue
		}
		if err != nil || has(r.now(), "a") != has(m, "a") || has(m, "a") != placement.Slots/map[int]int{1: 1, 2: 4}[len(c.groups)] {
			t.Errorf("%+v: %v", c, err)
		}
		_, err = Init(t.Context(), r, one)
		refused(t, err, ErrRefused, "a map already")
	}
}

// A group is added before it exists; it has nothing, and its weight can change.
func TestAdd(t *testing.T) {
	r := newRegistry(t)
	_, err := Add(t.Context(), r, placement.Group{Name: "b", Weight: 1})
	refused(t, err, ErrRefused, "no map")
	r.exist("a", "c")
	if _, err := Init(t.Context(), r, []placement.Group{{Name: "a", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{"a": `"a" is in the map`, "c": "groups/c exists"} {
		_, err := Add(t.Context(), r, placement.Group{Name: name, Weight: 1})
		refused(t, err, ErrRefused, says)
	}
	_, err = Add(t.Context(), r, placement.Group{Name: "b", Weight: placement.MaxWeight + 1})
	refused(t, err, placement.ErrMap, "weight 101")
	var all sync.WaitGroup
	for _, name := range []string{"d", "e", "f", "g"} {
		all.Go(func() {
			if _, err := Add(t.Context(), r, placement.Group{Name: name, Weight: 2}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	m := r.now()
	if has(m, "a") != placement.Slots || len(m.Groups) != 5 || m.Version != 5 || m.Epoch != 1 {
		t.Errorf("%d groups, version %d, epoch %d", len(m.Groups), m.Version, m.Epoch)
	}
	if m, err = Weigh(t.Context(), r, "d", 7); err != nil || m.Groups[1].Weight+r.now().Groups[1].Weight != 14 && m.Version != 6 {
		t.Error(err)
	}
	if same, err := Weigh(t.Context(), r, "d", 7); err != nil || same.Version != m.Version {
		t.Errorf("the same weight again: %v", err)
	}
	_, err = Weigh(t.Context(), r, "x", 7)
	refused(t, err, placement.ErrUnknown, `"x"`)
	for _, g := range m.Groups[1:] {
		if _, err := Weigh(t.Context(), r, g.Name, 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err = Weigh(t.Context(), r, "a", 0)
	refused(t, err, ErrRefused, `no other group than "a"`)
	if m, err = Remove(t.Context(), r, "d"); err != nil || len(m.Groups) != 4 {
		t.Error(err)
	}
	_, err = Remove(t.Context(), r, "a")
	refused(t, err, placement.ErrBusy, "4096 slots")
}

// A change is lost if its answer is: it is not made again.
func TestUnknownChange(t *testing.T) {
	r := grown(t)
	r.fails = func() (bool, error) { return true, coord.ErrUnknown }
	if _, err := Add(t.Context(), r, placement.Group{Name: "x", Weight: 1}); !errors.Is(err, coord.ErrUnknown) {
		t.Error(err)
	}
}

// Moves that are not decided are undone, all or some, by one change.
func TestUndo(t *testing.T) {
	r := grown(t)
	m := r.now()
	var moves []placement.Move
	for s := range uint16(5) {
		moves = append(moves, placement.Move{Part: placement.Part{Slot: s}, From: 0, To: 2})
	}
	if _, err := change(t.Context(), r, func(m *placement.Map) (*placement.Map, error) { return m.Begin(moves...) }); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(m *placement.Map, p placement.Part) (*placement.Map, error){
		(*placement.Map).Copied,
		func(m *placement.Map, p placement.Part) (*placement.Map, error) { return m.Freeze(p, 1) },
		(*placement.Map).Received, (*placement.Map).Decide,
	} {
		if _, err := change(t.Context(), r, func(m *placement.Map) (*placement.Map, error) { return step(m, moves[1].Part) }); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := Undo(t.Context(), r, partsOf(8, 9))
	refused(t, err, ErrRefused, "none of the 2 parts")
	for _, c := range []struct {
		parts                  []placement.Part
		undone, decided, moves int
	}{{partsOf(0), 1, 0, 4}, {partsOf(1, 2, 9), 1, 1, 3}, {nil, 2, 1, 1}, {nil, 0, 1, 1}} {
		undone, decided, err := Undo(t.Context(), r, c.parts)
		if n := r.now(); err != nil || undone != c.undone || decided != c.decided || len(n.Moves) != c.moves || n.Epoch == m.Epoch {
			t.Errorf("%+v: %d, %d, %d moves left, %v", c, undone, decided, len(n.Moves), err)
		}
	}
	if slots, most := r.transfers(); slots != 1 || most != 1 {
		t.Errorf("%d slots have got another owner", slots)
	}
}

// A group that was taken out of the map may be added again; one that has a store of its own may not, nor does
// the mark of a removal that was not made matter.
func TestAddAgain(t *testing.T) {
	r := newRegistry(t)
	if _, err := Init(t.Context(), r, []placement.Group{{Name: "a", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	b := placement.Group{Name: "b", Weight: 1}
	if _, err := Add(t.Context(), r, b); err != nil {
		t.Fatal(err)
	}
	r.exist("b", "c") // Its servers start.
	conflicts := 0
	r.fails = func() (bool, error) {
		conflicts++
		return conflicts != 1, map[bool]error{true: coord.ErrConflict}[conflicts == 1]
	}
	if _, err := Remove(t.Context(), r, "b"); err != nil {
		t.Fatal(err)
	}
	r.fails = nil
	v, err := r.Get(t.Context(), node.Key("b"))
	if err != nil {
		t.Fatal(err)
	}
	if g, err := node.Parse(v); err != nil || !g.Removed {
		t.Fatalf("%+v, %v", g, err)
	}
	if _, err := Remove(t.Context(), r, "b"); !errors.Is(err, placement.ErrUnknown) {
		t.Error(err)
	}
	if m, err := Add(t.Context(), r, b); err != nil || len(m.Groups) != 2 {
		t.Fatal(err)
	}
	_, err = Add(t.Context(), r, placement.Group{Name: "c", Weight: 1})
	refused(t, err, ErrRefused, "groups/c exists")
	if _, err := Remove(t.Context(), r, "a"); !errors.Is(err, placement.ErrBusy) {
		t.Error(err)
	}
}

func partsOf(slots ...uint16) (parts []placement.Part) {
	for _, s := range slots {
		parts = append(parts, placement.Part{Slot: s})
	}
	return parts
}
