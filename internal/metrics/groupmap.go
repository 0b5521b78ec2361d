package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/catfish-index/catfish/internal/placement"
)

// Metrics of the map of several groups, as this member has it. Without a map there are none.
var (
	mapVersion = mapDesc("version", "Version of the map of groups: it rises with each change, also of a move's step.")
	mapEpoch   = mapDesc("epoch", "Version of the map at which a slot, or a range of boxes, had another owner last.")
	mapOwned   = mapDesc("owned_slots", "Slots of features and records that this group has, of 4096.")
	mapFrozen  = mapDesc("frozen_slots", "Slots of this group that no group takes writes of, since they are about to move.")
	mapMoves   = mapDesc("moves", "Moves of slots and ranges under way from this group or to it, by step.", "step")
)

var (
	mapDescs []*prometheus.Desc
	mapNames []string
)

func mapDesc(name, help string, labels ...string) *prometheus.Desc {
	name = "catfish_map_" + name
	d := prometheus.NewDesc(name, help, append([]string{"group", "node"}, labels...), nil)
	mapDescs, mapNames = append(mapDescs, d), append(mapNames, name)
	return d
}

// collectMap emits the map's figures of a group, unless there is no map of it.
func collectMap(m *placement.Map, gauge func(d *prometheus.Desc, v float64, labels ...string), group string) {
	if m == nil {
		return
	}
	me, err := m.Find(group)
	if err != nil {
		return
	}
	owned, frozen, moves := 0, 0, map[placement.Step]int{}
	for _, g := range m.Slots {
		if g == me {
			owned++
		}
	}
	for _, v := range m.Moves {
		if v.From == me || v.To == me {
			moves[v.Step]++
		}
		if v.From == me && v.Step.Frozen() && v.Collection == "" {
			frozen++
		}
	}
	gauge(mapVersion, float64(m.Version))
	gauge(mapEpoch, float64(m.Epoch))
	gauge(mapOwned, float64(owned))
	gauge(mapFrozen, float64(frozen))
	for s := placement.Copy; s <= placement.Drop; s++ {
		gauge(mapMoves, float64(moves[s]), s.String())
	}
}
