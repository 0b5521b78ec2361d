package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

func newSearch(a *App) *cobra.Command {
	var f clientFlags
	var ff findFlags
	var limit, repeat int
	var explain bool
	c := &cobra.Command{
		Use:   "search --bbox minx,miny,maxx,maxy",
		Short: "Find the objects that intersect a rectangle, or features",
		Long: `Find the objects that intersect a rectangle. Each is a line of standard
output, separated by tabs: id, minx, miny, maxx, maxy. How many there are goes
to standard error.

In a collection of features: find those of an area (a box, which crosses 180
degrees if west > east; a circle in metres; polygons of a file), or without an
area all, for which a filter holds. Lines are id, geometry and properties, or
another --format. With --limit they come by id, and the answer says what goes on:
"next" in geojson and --json, and on standard error.`,
		Example: `  catfish search --bbox -122.5,37.2,-121.7,37.9
  catfish search --server 10.0.0.5:7119 --bbox 0,0,1,1 --policy offload --json
  catfish search --bbox 0.5,0.5,0.501,0.501 --explain --repeat 2
  catfish search -c cafes --bbox 1.4,42.4,1.8,42.7 --filter 'properties.seats > 20'
  catfish search -c cafes --near 1.52,42.51 --radius 500 --format geojson
  catfish search -c cafes --within town.geojson --limit 20 --fields name,seats`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			boxes := f.collection == catfish.DefaultCollection && !ff.used()
			var q rstar.Rect
			var err error
			if boxes {
				if q, err = parseRect("bbox", ff.bbox); err != nil {
					return err
				}
			}
			if limit < 0 {
				return BadUsage("--limit is %d, want 0 (all) or more", limit)
			}
			if repeat < 1 {
				return BadUsage("--repeat is %d, want 1 or more", repeat)
			}
			if repeat > 1 && !explain {
				return BadUsage("--repeat is %d without --explain", repeat)
			}
			if !boxes {
				if _, err := ff.query(limit); err != nil {
					return err
				}
			}
			ctx := cmd.Context()
			cl, err := f.dial(ctx, a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if !boxes {
				fs, kind, err := f.openFeatures(ctx, cl)
				switch {
				case err != nil:
					return err
				case fs != nil && explain:
					return a.explainFeatures(ctx, fs, f, &ff, limit, repeat)
				case fs != nil:
					return a.searchFeatures(ctx, cl, fs, f, &ff, limit)
				}
				if err := ff.noUse(f.collection, kind, findFlagNames...); err != nil {
					return err
				}
				if q, err = parseRect("bbox", ff.bbox); err != nil {
					return err
				}
			}
			if explain {
				return a.explain(ctx, cl, f, q, limit, repeat)
			}
			return a.search(ctx, cl, f, q, limit)
		},
	}
	f.register(c)
	f.registerSearch(c)
	f.registerJSON(c)
	ff.register(c)
	c.Flags().BoolVar(&explain, "explain", false,
		"tell how the search went instead of what it found")
	c.Flags().IntVar(&repeat, "repeat", 1,
		"with --explain: search so many times over one connection, and tell of each")
	c.Flags().StringVar(&ff.bbox, "bbox", "", "rectangle to search, borders included")
	c.Flags().IntVar(&limit, "limit", 0, "most objects to return, 0 for all")
	return c
}

func (a *App) search(ctx context.Context, cl *catfish.Client, f clientFlags, q rstar.Rect, limit int) error {
	var items []rstar.Item
	err := whileStarting(ctx, startPatience, func() (err error) {
		items, err = cl.SearchAppend(ctx, nil, q, limit)
		return err
	})
	if err != nil {
		return err
	}
	info := cl.Info()
	if f.json {
		ans := answerJSON{
			Count: len(items), Items: make([]itemJSON, len(items)),
			Policy: info.Policy, Transport: info.Transport,
		}
		for i, it := range items {
			ans.Items[i] = itemJSON{ID: it.ID, Rect: rectJSON(it.Rect)}
		}
		return a.json(ans)
	}
	var b strings.Builder
	for _, it := range items {
		fmt.Fprintf(&b, "%d\t%v\t%v\t%v\t%v\n", it.ID, it.Rect.MinX,
			it.Rect.MinY, it.Rect.MaxX, it.Rect.MaxY)
	}
	return a.found(b.String(), len(items), info)
}

func newNearest(a *App) *cobra.Command {
	var f clientFlags
	var point string
	var k int
	var filter string
	var af answerFlags
	within := math.Inf(1)
	c := &cobra.Command{
		Use:   "nearest --point x,y",
		Short: "Find the objects nearest to a point, or features",
		Long: `Find the objects nearest to a point, nearest first. Each is a line of
standard output, separated by tabs: id, minx, miny, maxx, maxy, and the
distance. How many there are goes to standard error.

In a collection of features distances are metres on the sphere, or the unit of a
planar collection, and only features count for which the filter holds.`,
		Example: `  catfish nearest --point -122.1,37.4 -k 3
  catfish nearest --point 0.5,0.5 --max-distance 0.01 -k 100
  catfish nearest --point 0.5,0.5 --policy offload --json
  catfish nearest -c cafes --point 1.52,42.51 -k 10 --filter 'properties.open'
  catfish nearest -c cafes --point 1.52,42.51 --max-distance 500 --format geojson`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := parseNumbers("point", point, 2, "x,y")
			if err != nil {
				return err
			}
			if k < 1 {
				return BadUsage("-k is %d, want 1 or more", k)
			}
			if k > catfish.MaxNearest {
				return BadUsage("-k is %d, want %d or less", k, catfish.MaxNearest)
			}
			if !(within >= 0) {
				return BadUsage("--max-distance is %v, want 0 or more", within)
			}
			ctx := cmd.Context()
			cl, err := f.dial(ctx, a)
			if err != nil {
				return err
			}
			defer cl.Close()
			only := append([]string{"filter"}, answerFlagNames...)
			if f.collection != catfish.DefaultCollection || slices.ContainsFunc(only, cmd.Flags().Changed) {
				fs, kind, err := f.openFeatures(ctx, cl)
				if err != nil {
					return err
				}
				if fs != nil {
					q := catfish.NearestQuery{X: p[0], Y: p[1], K: k, Filter: filter}
					if !math.IsInf(within, 1) {
						q.Within = max(within, math.SmallestNonzeroFloat64) // 0 stands for no limit
					}
					return a.nearestFeatures(ctx, cl, fs, f, &af, q)
				}
				if err := NoUse(cmd.Flags(), inKind(f.collection, kind), only...); err != nil {
					return err
				}
			}
			return a.nearest(ctx, cl, f, p[0], p[1], k, within)
		},
	}
	f.register(c)
	f.registerSearch(c)
	f.registerJSON(c)
	af.register(c)
	c.Flags().StringVar(&filter, "filter", "", `features: condition, such as 'properties.kind == "cafe"'`)
	c.Flags().StringVar(&point, "point", "", "where to look from")
	c.Flags().IntVarP(&k, "k", "k", 10, fmt.Sprintf("how many objects, at most %d", catfish.MaxNearest))
	c.Flags().Float64Var(&within, "max-distance", math.Inf(1), "leave out what is farther, of features in metres; +Inf: nothing")
	return c
}

func (a *App) nearest(ctx context.Context, cl *catfish.Client, f clientFlags, x, y float64, k int, within float64) error {
	found, err := cl.NearestWithin(ctx, x, y, k, within)
	if err != nil {
		return err
	}
	info := cl.Info()
	if f.json {
		ans := answerJSON{
			Count: len(found), Items: make([]itemJSON, len(found)),
			Policy: info.Policy, Transport: info.Transport,
		}
		for i, n := range found {
			ans.Items[i] = itemJSON{ID: n.ID, Rect: rectJSON(n.Rect), Dist: &n.Dist}
		}
		return a.json(ans)
	}
	var b strings.Builder
	for _, n := range found {
		fmt.Fprintf(&b, "%d\t%v\t%v\t%v\t%v\tdistance %v\n", n.ID, n.Rect.MinX,
			n.Rect.MinY, n.Rect.MaxX, n.Rect.MaxY, n.Dist)
	}
	return a.found(b.String(), len(found), info)
}

// found writes a line for each object to standard output, for pipes, and
// the summary to standard error.
func (a *App) found(lines string, n int, info catfish.ConnInfo) error {
	if err := a.Printf("%s", lines); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "%d objects, policy %s, transport %s\n", n, info.Policy, info.Transport)
	return nil
}

func newCount(a *App) *cobra.Command {
	var f clientFlags
	var af areaFlags
	c := &cobra.Command{
		Use:   "count --bbox minx,miny,maxx,maxy",
		Short: "Count the objects that intersect a rectangle, or features",
		Long: `Count the objects that intersect a rectangle, or in a collection of features
those that 'catfish search' with the same area and filter finds. It is exact.`,
		Example: `  catfish count --bbox -122.5,37.2,-121.7,37.9 --json
  catfish count -c cafes --near 1.52,42.51 --radius 500 --filter 'properties.open'`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			boxes := f.collection == catfish.DefaultCollection && !af.used()
			var q rstar.Rect
			var fq catfish.FeatureQuery
			var err error
			if boxes {
				q, err = parseRect("bbox", af.bbox)
			} else {
				fq, err = af.query()
			}
			if err != nil {
				return err
			}
			cl, err := f.dial(ctx, a)
			if err != nil {
				return err
			}
			defer cl.Close()
			var fs *catfish.Features
			var n int
			if !boxes {
				var kind string
				if fs, kind, err = f.openFeatures(ctx, cl); err == nil && fs == nil {
					if err = af.noUse(f.collection, kind); err == nil {
						q, err = parseRect("bbox", af.bbox)
					}
				}
				if err != nil {
					return err
				}
			}
			if fs != nil {
				a.tellUnknown(ctx, fs, f.collection, fq.Filter)
				n, err = fs.Count(ctx, fq)
			} else {
				n, err = cl.Count(ctx, q)
			}
			if err != nil {
				return err
			}
			if !f.json {
				return a.Printf("%d\n", n)
			}
			info := cl.Info()
			return a.json(struct {
				Count     int    `json:"count"`
				Policy    string `json:"policy"`
				Transport string `json:"transport"`
			}{n, info.Policy, info.Transport})
		},
	}
	f.register(c)
	f.registerSearch(c)
	f.registerJSON(c)
	af.register(c)
	c.Flags().StringVar(&af.bbox, "bbox", "", "rectangle to count in, borders included")
	return c
}
