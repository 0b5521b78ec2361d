package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

func newSearch(a *app) *cobra.Command {
	var f clientFlags
	var bbox string
	var limit, repeat int
	var explain bool
	c := &cobra.Command{
		Use:   "search --bbox minx,miny,maxx,maxy",
		Short: "Find the objects that intersect a rectangle",
		Long: `Find the objects that intersect a rectangle. Each is a line of standard
output, separated by tabs: id, minx, miny, maxx, maxy. How many there are goes
to standard error.`,
		Example: `  catfish search --bbox -122.5,37.2,-121.7,37.9
  catfish search --server 10.0.0.5:7119 --bbox 0,0,1,1 --policy offload --json
  catfish search --bbox 0.5,0.5,0.501,0.501 --explain --repeat 2`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := parseRect("bbox", bbox)
			if err != nil {
				return err
			}
			if limit < 0 {
				return badUsage("--limit is %d, want 0 (all) or more", limit)
			}
			if repeat < 1 {
				return badUsage("--repeat is %d, want 1 or more", repeat)
			}
			if repeat > 1 && !explain {
				return badUsage("--repeat is %d without --explain", repeat)
			}
			if explain {
				return a.explain(cmd.Context(), f, q, limit, repeat)
			}
			return a.search(cmd.Context(), f, q, limit)
		},
	}
	f.register(c)
	f.registerSearch(c)
	f.registerJSON(c)
	c.Flags().BoolVar(&explain, "explain", false,
		"tell how the search went instead of what it found")
	c.Flags().IntVar(&repeat, "repeat", 1,
		"with --explain: search so many times over one connection, and tell of each")
	c.Flags().StringVar(&bbox, "bbox", "", "rectangle to search, borders included")
	c.Flags().IntVar(&limit, "limit", 0, "most objects to return, 0 for all")
	return c
}

func (a *app) search(ctx context.Context, f clientFlags, q rstar.Rect, limit int) error {
	cl, err := f.dial(ctx, a)
	if err != nil {
		return err
	}
	defer cl.Close()
	items, err := cl.SearchAppend(ctx, nil, q, limit)
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

func newNearest(a *app) *cobra.Command {
	var f clientFlags
	var point string
	var k int
	within := math.Inf(1)
	c := &cobra.Command{
		Use:   "nearest --point x,y",
		Short: "Find the objects nearest to a point",
		Long: `Find the objects nearest to a point, nearest first. Each is a line of
standard output, separated by tabs: id, minx, miny, maxx, maxy, and the
distance. How many there are goes to standard error.`,
		Example: `  catfish nearest --point -122.1,37.4 -k 3
  catfish nearest --point 0.5,0.5 --max-distance 0.01 -k 100
  catfish nearest --point 0.5,0.5 --policy offload --json`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := parseNumbers("point", point, 2, "x,y")
			if err != nil {
				return err
			}
			if k < 1 {
				return badUsage("-k is %d, want 1 or more", k)
			}
			if k > catfish.MaxNearest {
				return badUsage("-k is %d, want %d or less", k, catfish.MaxNearest)
			}
			if !(within >= 0) {
				return badUsage("--max-distance is %v, want 0 or more", within)
			}
			return a.nearest(cmd.Context(), f, p[0], p[1], k, within)
		},
	}
	f.register(c)
	f.registerSearch(c)
	f.registerJSON(c)
	c.Flags().StringVar(&point, "point", "", "where to look from")
	c.Flags().IntVarP(&k, "k", "k", 10, fmt.Sprintf("how many objects, at most %d", catfish.MaxNearest))
	c.Flags().Float64Var(&within, "max-distance", math.Inf(1), "leave out what is farther; +Inf: nothing")
	return c
}

func (a *app) nearest(ctx context.Context, f clientFlags, x, y float64, k int, within float64) error {
	cl, err := f.dial(ctx, a)
	if err != nil {
		return err
	}
	defer cl.Close()
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
func (a *app) found(lines string, n int, info catfish.ConnInfo) error {
	if err := a.printf("%s", lines); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "%d objects, policy %s, transport %s\n", n, info.Policy, info.Transport)
	return nil
}

func newCount(a *app) *cobra.Command {
	var f clientFlags
	var bbox string
	c := &cobra.Command{
		Use:     "count --bbox minx,miny,maxx,maxy",
		Short:   "Count the objects that intersect a rectangle",
		Example: `  catfish count --bbox -122.5,37.2,-121.7,37.9 --json`,
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := parseRect("bbox", bbox)
			if err != nil {
				return err
			}
			cl, err := f.dial(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			n, err := cl.Count(cmd.Context(), q)
			if err != nil {
				return err
			}
			if !f.json {
				return a.printf("%d\n", n)
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
	c.Flags().StringVar(&bbox, "bbox", "", "rectangle to count in, borders included")
	return c
}
