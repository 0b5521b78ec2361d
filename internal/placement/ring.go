package placement

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// MaxPoints of a group of weight 1 on a ring.
const MaxPoints = 1 << 12

// Ring is consistent hashing (Karger et al., STOC 1997), by which HydraDB places keys
// (section 4.1): groups have points on a ring of 64-bit hashes, and an id is of the group
// with the first point at or after the id's hash. Servers use Map;
// Ring is kept to compare with. It is safe for concurrent use.
type Ring struct{ points []point }

var _, _ Placer = (*Map)(nil), (*Ring)(nil)

type point struct {
	at    uint64
	group Index
}

// NewRing returns the ring on which each group has points times its weight many points:
// the hashes of its name with the seeds 0, 1, 2 and so on. Its places do not depend on
// other groups, so that one more group only takes.
func NewRing(groups []Group, points int) (*Ring, error) {
	if points < 1 || points > MaxPoints {
		return nil, fmt.Errorf("%w: %d points a group, want 1 to %d", ErrMap, points, MaxPoints)
	}
	if err := checkGroups(groups); err != nil {
		return nil, err
	}
	r := new(Ring)
	for g, group := range groups {
		for i := range points * int(group.Weight) {
			r.points = append(r.points, point{cuckoo.Hash(uint64(i), []byte(group.Name)), Index(g)})
		}
	}
	slices.SortFunc(r.points, func(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.group, b.group)) })
	return r, nil
}

// Of returns the group that has an id.
func (r *Ring) Of(id []byte) Index { return r.at(hashOf(id)) }

// at returns the group that has a hash.
func (r *Ring) at(hash uint64) Index {
	i, _ := slices.BinarySearchFunc(r.points, hash, func(p point, hash uint64) int { return cmp.Compare(p.at, hash) })
	return r.points[i%len(r.points)].group
}
