package placement

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/catfish-index/catfish/rstar"
)

// Limits of a map. MaxBytes of its encoding is reached before all of the others are.
const (
	MaxGroups = 64
	// MaxWeight of a group.
	MaxWeight = 100
	// MaxCollections of boxes.
	MaxCollections = 256
	// MaxRanges of a collection.
	MaxRanges = 1024
	// MaxMoves under way.
	MaxMoves = 256
	// MaxBytes of an encoded map. etcd takes values up to 1.5 MB, but each process reads
	// this one after each change.
	MaxBytes = 64 << 10
)

// Map says which group has what. It is not changed: methods return the next map, which
// shares what did not change. It is safe for concurrent use.
type Map struct {
	Version uint64 // counts changes from 1
	// Epoch is the version at which a part had another owner last: answers of several groups
	// belong together if they are given by maps of one epoch.
	Epoch  uint64
	Groups []Group
	Slots  [Slots]Index
	Boxes  []Curve // by collection, sorted
	Moves  []Move  // under way, at most one of a part, in the order of their beginning

	batch bool // it is the copy of a Batch: steps change it
}

// Group is a group of servers, by the name that it has at the coordinators.
type Group struct {
	Name string `json:"name"`
	// Weight is its share of all data, in relation to other groups' weights. 0: it is
	// drained, and gets none.
	Weight uint8 `json:"weight"`
	// Extents of collections of features, sorted. A collection that is missing may have
	// features anywhere.
	Extents []Extent `json:"extents,omitempty"`
}

// Extent bounds what a group has of a collection of features.
type Extent struct {
	Collection string     `json:"collection"`
	Box        rstar.Rect `json:"box"`
}

// New returns the map of groups without data: slots by weight.
func New(groups []Group) (*Map, error) {
	m := &Map{Version: 1, Epoch: 1, Groups: slices.Clone(groups)}
	if err := checkGroups(groups); err != nil {
		return nil, err
	}
	first := 0
	for g, end := range m.shares(Slots) {
		for ; first < int(end); first++ {
			m.Slots[first] = Index(g)
		}
	}
	return m, m.Validate()
}

// Of returns the group that has the features and records of an id.
func (m *Map) Of(id []byte) Index { return m.Slots[SlotOf(id)] }

// Find returns the group of a name. ErrUnknown.
func (m *Map) Find(name string) (Index, error) {
	g := slices.IndexFunc(m.Groups, func(g Group) bool { return g.Name == name })
	if g < 0 {
		return 0, fmt.Errorf("%w: group %q", ErrUnknown, name)
	}
	return Index(g), nil
}

// AddGroup returns the map with one more group, which has nothing until moves bring it.
func (m *Map) AddGroup(name string, weight uint8) (*Map, error) {
	n := m.next()
	n.Groups = append(slices.Clone(m.Groups), Group{Name: name, Weight: weight})
	return n.checked()
}

// Weigh returns the map with another weight of a group, 0: Balance drains it.
func (m *Map) Weigh(g Index, weight uint8) (*Map, error) {
	if err := m.has(g); err != nil {
		return nil, err
	}
	n := m.next()
	n.Groups = slices.Clone(m.Groups)
	n.Groups[g].Weight = weight
	return n.checked()
}

// RemoveGroup returns the map without a group. Later groups get the next lower numbers.
// ErrBusy: it has data, or moves.
func (m *Map) RemoveGroup(g Index) (*Map, error) {
	if err := m.has(g); err != nil {
		return nil, err
	}
	slots, ranges := m.owned(g)
	moves := 0
	for _, v := range m.Moves {
		if v.From == g || v.To == g {
			moves++
		}
	}
	if slots+ranges+moves > 0 {
		return nil, fmt.Errorf("%w: group %q has %d slots, %d ranges and %d moves", ErrBusy, m.Groups[g].Name, slots, ranges, moves)
	}
	n := m.next()
	n.Groups = slices.Delete(slices.Clone(m.Groups), int(g), int(g)+1)
	lower := func(i *Index) {
		if *i > g {
			*i--
		}
	}
	for i := range n.Slots {
		lower(&n.Slots[i])
	}
	for i := range n.Boxes {
		ranges := n.ranges(i)
		for j := range ranges {
			lower(&ranges[j].Group)
		}
	}
	n.Moves = slices.Clone(m.Moves)
	for i := range n.Moves {
		lower(&n.Moves[i].From)
		lower(&n.Moves[i].To)
	}
	return n.checked()
}

// owned counts the parts of a group.
func (m *Map) owned(g Index) (slots, ranges int) {
	for _, has := range m.Slots {
		if has == g {
			slots++
		}
	}
	for _, c := range m.Boxes {
		for _, r := range c.Ranges {
			if r.Group == g {
				ranges++
			}
		}
	}
	return slots, ranges
}

// shares returns where the share of each group ends if total is divided by weight.
func (m *Map) shares(total uint64) []uint64 {
	var all, sum uint64
	for _, g := range m.Groups {
		all += uint64(g.Weight)
	}
	ends := make([]uint64, len(m.Groups))
	for i, g := range m.Groups {
		sum += uint64(g.Weight)
		hi, lo := bits.Mul64(total, sum)
		ends[i], _ = bits.Div64(hi, lo, all) // hi < sum <= all
	}
	return ends
}

// next returns a copy with the next version.
func (m *Map) next() *Map {
	if m.batch {
		return m
	}
	n := *m
	n.Version++
	return &n
}

// checked returns the map, or what is wrong with it.
func (m *Map) checked() (*Map, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Map) has(g Index) error {
	if int(g) >= len(m.Groups) {
		return fmt.Errorf("%w: group %d of %d", ErrUnknown, g, len(m.Groups))
	}
	return nil
}

// ranges returns those of a collection, copied for a change.
func (m *Map) ranges(curve int) []Range {
	m.Boxes = slices.Clone(m.Boxes)
	m.Boxes[curve].Ranges = slices.Clone(m.Boxes[curve].Ranges)
	return m.Boxes[curve].Ranges
}
