package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// ClusterBoxes is where the boxes of a collection are.
type ClusterBoxes struct {
	Collection string         `json:"collection"`
	World      [4]float64     `json:"world"`
	Ranges     []ClusterRange `json:"ranges"`
}

// ClusterRange is a part of a collection of boxes: those whose centres have positions on a Hilbert
// curve through the world from Start to the next range's.
type ClusterRange struct {
	Start uint64 `json:"start,string"`
	Group string `json:"group"`
	// Largest is the greatest width and height of a box; null: any.
	Largest *[2]float64 `json:"largest"`
}

func clusterBoxes(m *placement.Map, c *placement.Curve) ClusterBoxes {
	b := ClusterBoxes{Collection: c.Collection, World: rectJSON(c.World)}
	for _, r := range c.Ranges {
		is := ClusterRange{Start: r.Start, Group: m.Groups[r.Group].Name}
		if r.Bounds != nil {
			is.Largest = &[2]float64{2 * r.Bounds.HalfX, 2 * r.Bounds.HalfY}
		}
		b.Ranges = append(b.Ranges, is)
	}
	return b
}

func (b *ClusterBoxes) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "boxes %s:", b.Collection)
	for i, r := range b.Ranges {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, " group %s from %.3f of the curve", r.Group, float64(r.Start)/(1<<64))
		if r.Largest != nil {
			fmt.Fprintf(&s, ", at most %.6g x %.6g", r.Largest[0], r.Largest[1])
		}
	}
	s.WriteByte('\n')
	return s.String()
}

// placing is what 'cluster boxes' was asked for.
type placing struct {
	sources        sourceFlags
	files          []string
	world, largest string
}

func newClusterPlaceBoxes(a *App) *cobra.Command {
	var f coordinatorFlags
	var p placing
	var asJSON bool
	c := &cobra.Command{
		Use:   "boxes COLLECTION [FILE...]",
		Short: "Give each group a part of a collection of boxes, before it is loaded",
		Long: `Give each group a part of a collection of boxes: those whose centres are in its range of a Hilbert
curve through the world. Do this once for each collection, before it is made and loaded; later
'catfish cluster split' and 'rebalance' divide and move ranges.

From files, or generators, it takes their extent as the world, ranges of as many boxes for each group, by weight,
and how large boxes may be in each range: as large as those of the files, or as --largest says. Searches
ask the groups that may have boxes of that size in an area, so larger boxes are refused later. With --largest any all
groups are asked by each search. Without files the ranges have equal parts of the world, and --largest is any.`,
		Example: `  catfish cluster boxes roads roads.csv --coordinators 10.0.0.1:7120
  catfish cluster boxes parcels --world=-180,-90,180,90 --largest 0.5,0.5 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.files = args[1:]
			if err := wire.CheckName(args[0]); err != nil {
				return BadUsage("%w", err)
			}
			add, err := p.plan(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			cl, err := f.dial()
			if err != nil {
				return err
			}
			defer cl.Close()
			m, err := cluster.PlaceBoxes(cmd.Context(), cl, args[0], add)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), clusterTime)
			defer cancel()
			if late := awaitMap(ctx, cl, m.Version); len(late) > 0 {
				fmt.Fprintf(a.Err, "groups that have not read the map yet, and take these boxes as soon as they have: %s\n", strings.Join(late, ", "))
			}
			b := clusterBoxes(m, curveOf(m, args[0]))
			if asJSON {
				return a.json(b)
			}
			return a.Printf("%s", b.text())
		},
	}
	f.register(c)
	p.sources.register(c)
	c.Flags().StringVar(&p.world, "world", "", "minx,miny,maxx,maxy through which the curve runs; centres beyond count as on its border;\nempty: the extent of the files, without files degrees: -180,-90,180,90")
	c.Flags().StringVar(&p.largest, "largest", "", "greatest WIDTH,HEIGHT of a box, or any; empty: as in the files")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// plan reads the files, and returns what adds the collection to a map.
func (p *placing) plan(ctx context.Context, a *App, collection string) (func(*placement.Map) (*placement.Map, error), error) {
	world := rstar.Rect{MinX: -180, MinY: -90, MaxX: 180, MaxY: 90}
	var bounds *placement.Bounds
	if p.largest != "" && p.largest != "any" {
		v, err := parseNumbers("largest", p.largest, 2, "WIDTH,HEIGHT")
		if err != nil {
			return nil, err
		}
		if v[0] < 0 || v[1] < 0 {
			return nil, BadUsage("--largest %q, want WIDTH,HEIGHT of 0 or more, or any", p.largest)
		}
		b := placement.Largest(v[0], v[1])
		bounds = &b
	}
	var seen placement.Survey
	look := func(r rstar.Rect) error {
		seen.Add(r)
		return nil
	}
	if err := p.each(ctx, a, look); err != nil {
		return nil, err
	}
	if seen.Boxes > 0 {
		world = seen.Extent
	}
	if p.world != "" {
		var err error
		if world, err = parseRect("world", p.world); err != nil {
			return nil, err
		}
	}
	var bounded []placement.Range // of the attempt before
	return func(m *placement.Map) (*placement.Map, error) {
		m, err := m.AddBoxes(collection, world, seen.Positions(world), bounds)
		if err != nil || p.largest != "" || seen.Boxes == 0 {
			return m, err
		}
		same := func(a, b placement.Range) bool { return a.Start == b.Start && a.Group == b.Group }
		if slices.EqualFunc(bounded, curveOf(m, collection).Ranges, same) {
			for _, r := range bounded {
				if m, err = m.BoundRange(collection, r.Start, r.Bounds); err != nil {
					return nil, err
				}
			}
			return m, nil
		}
		var failed error
		m, err = m.BoundBoxes(collection, func(yield func(rstar.Rect) bool) {
			failed = p.each(ctx, a, func(r rstar.Rect) error {
				if !yield(r) {
					return errRefusedBox
				}
				return nil
			})
		})
		if err = cmp.Or(err, failed); err == nil {
			bounded = curveOf(m, collection).Ranges
		}
		return m, err
	}, nil
}

// curveOf is where a collection is placed.
func curveOf(m *placement.Map, collection string) *placement.Curve {
	i := slices.IndexFunc(m.Boxes, func(c placement.Curve) bool { return c.Collection == collection })
	return &m.Boxes[i]
}

// errRefusedBox ends reading after a box that the map refuses, which says why.
var errRefusedBox = errors.New("a box cannot be placed")

// each calls f for each box of the files.
func (p *placing) each(ctx context.Context, a *App, f func(rstar.Rect) error) error {
	sources, err := p.sources.openAll(p.files)
	for _, src := range sources {
		if err == nil {
			err = a.read(ctx, src, func(it rstar.Item) error { return f(it.Rect) })
		}
	}
	if err != nil {
		return p.sources.notBoxes(err, p.files)
	}
	return nil
}

// awaitMap waits until the primaries of all groups have read the map of a version, and returns the
// groups of which one has not.
func awaitMap(ctx context.Context, cl *coord.Client, version uint64) (late []string) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		groups, err := node.Groups(ctx, cl)
		if err != nil {
			return late
		}
		late = nil
		for _, g := range groups {
			if m := g.Member(g.Primary); m != nil && !hasMap(ctx, m.Addr, version) {
				late = append(late, g.Name)
			}
		}
		if len(late) == 0 {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return late
		}
	}
}

func hasMap(ctx context.Context, addr string, version uint64) bool {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	h, err := wire.AskHello(ctx, addr)
	return err == nil && h.Cluster != nil && h.Cluster.Version >= version
}
