package client

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// groupMap is what routing needs of the map of a store of several groups.
type groupMap struct {
	names []string
	has   []bool // the groups that have any slot, or range of boxes
	is    *placement.Map
}

// decodeMap decodes a map as etcd has it.
func decodeMap(b []byte) (*groupMap, error) {
	is, err := placement.Decode(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrProtocol, err)
	}
	m := &groupMap{has: make([]bool, len(is.Groups)), is: is}
	for _, g := range is.Groups {
		m.names = append(m.names, g.Name)
	}
	for _, g := range is.Slots {
		m.has[g] = true
	}
	for _, c := range is.Boxes {
		for _, r := range c.Ranges {
			m.has[r.Group] = true
		}
	}
	return m, nil
}

// of returns the group that has an id, in all collections.
func (m *groupMap) of(id []byte) int { return int(m.is.Of(id)) }
