package paper

import (
	"slices"
	"strings"

	"github.com/catfish-index/catfish/rstar"
)

// The preset "as the paper": everything that options make as the paper has it,
// in place of what is ours.

// literal is Catfish of the preset. Its points are those of series paper, so that
// all figures, numbers and claims have them.
var literal = Series{Name: catfish.Name, Title: catfish.Title, Scheme: "paper-literal"}

// farm is polling of the preset, where the device has the order for it (shm); elsewhere
// the preset has none (Cells).
var farm = Series{Name: polling.Name, Title: polling.Title, Scheme: "farm"}

// PresetHas lists what the preset has as in the paper.
var PresetHas = []string{
	"an original R*-tree that grew by insertion, with no more children in an inner node than objects in a leaf, as where" +
		" boxes are doubles (original-doubles): levels, splits and the nodes and bytes of a read are those of such a tree",
	"a worker with a thread of its own for each connection",
	"Algorithm 1 to the letter (scheme paper-literal), N = 8, T = 95 %, the latest heartbeat",
	"inserts of section V-B, rings of 256 KiB",
	"a heartbeat every 10 ms to each active client, a message in its ring (--heartbeat-in-ring)",
	"base lines: over shm, messages of one Write that both sides poll, their size and then their last byte (scheme farm);" +
		" one read at a time without the tree's header (offload-single)",
	"figure 14: queries of 50 to 150 results",
}

// PresetLacks lists what no option makes as in the paper.
var PresetLacks = []string{
	"boxes in inner nodes are float32 offsets that are rounded outwards, in half of the node's room, not doubles: a search" +
		" may read a child that doubles exclude, and a split may differ where boxes differ by less than that",
	"over soft and ofi, which do not declare the order of a Write's bytes, there is no polling base line",
	"a heartbeat that finds no room in a ring is left out, and each connection's worker sends its own, at its own moment",
	"the room of a ring is returned by immediates, not by Writes of a pointer",
	"one writer at a time changes the tree; there are no locks of Kornacker and Banks",
	"multi-issue has at most 16 reads of a search under way",
}

// AsPaper returns the settings and experiments of the preset: a worker for each
// connection everywhere, and the series of the paper alone.
func AsPaper(s Settings, experiments []Experiment) (Settings, []Experiment) {
	s.AsPaper, s.Strategy, s.Inserted = true, rstar.OriginalDoubles, true
	with := slices.Clone(experiments)
	for i := range with {
		e := &with[i]
		e.PerConnection = e.Name != microName
		if slices.Contains(e.Series, catfish) {
			e.Series = []Series{tcp, polling, single, literal}
		}
		if j := slices.Index(e.Series, polling); j >= 0 {
			e.Series = slices.Clone(e.Series)
			e.Series[j] = farm
		}
	}
	return s, with
}

// PresetSchemes are the schemes of the preset's figures 10 to 14, as they are
// simulated: there a request of fast-polling is one message.
func PresetSchemes() []string {
	return []string{tcp.Name, polling.Name, single.Name, literal.Scheme}
}

// preset says what is as in the paper.
func (r Report) preset() string {
	if !r.Settings.AsPaper {
		return "none: ours where it differs from the paper's (--as-paper)"
	}
	return "as the paper: " + strings.Join(PresetHas, "; ") + ". Not as in the paper: " + strings.Join(PresetLacks, "; ")
}

// asPaper is a view in which Catfish is that of the preset.
type asPaper struct{ View }

func (v asPaper) At(experiment, panel, series string, clients int) (Value, bool) {
	if series == catfish.Name {
		series = literal.Scheme
	}
	return v.View.At(experiment, panel, series, clients)
}

// presetClaim begins the series of the preset's claims in files of simulated values.
const presetClaim = "as-paper/"

// presetRows has the simulated values of the preset in place of ours.
func presetRows(rows []Simulated) []Simulated {
	var with []Simulated
	for _, r := range rows {
		parts := strings.Split(r.Series, "/")
		name, preset := strings.CutPrefix(r.Series, presetClaim)
		switch {
		case preset:
			r.Series = name
		case r.Metric == Holds || len(parts) > 1 && parts[1] == catfish.Name:
			continue
		case len(parts) > 1 && parts[1] == literal.Scheme:
			parts[1] = catfish.Name
			r.Series = strings.Join(parts, "/")
		}
		with = append(with, r)
	}
	return with
}
