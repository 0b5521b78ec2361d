package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
)

func newFeatureDescribe(a *App) *cobra.Command {
	var f oneFlags
	c := &cobra.Command{
		Use:   "describe",
		Short: "Tell what a collection of features has: count, extent, properties",
		Long: `Tell what a collection of features has: how many, the box around them (west,
south, east, north; west is greater than east if it crosses 180 degrees), which
types of geometry, and which properties with values of which types.`,
		Example: `  catfish features describe -c cafes
  catfish features describe -c cafes --json`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, fs, err := f.dialFeatures(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			d, err := fs.Describe(cmd.Context())
			if err != nil {
				return err
			}
			if f.json {
				return a.json(d)
			}
			return a.Printf("%s", describeText(&d))
		},
	}
	f.register(c)
	return c
}

// describeText formats a description for people. Other users chose names and titles.
func describeText(d *catfish.FeaturesInfo) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	line("collection", "%s", plain([]byte(d.Name)))
	if d.Title != "" {
		line("title", "%s", plain([]byte(d.Title)))
	}
	if d.Description != "" {
		line("description", "%s", plain([]byte(d.Description)))
	}
	line("space", "%v", d.Space)
	line("features", "%d", d.Features)
	if e := d.Extent; e != nil {
		line("extent", "%v,%v,%v,%v", e[0], e[1], e[2], e[3])
	}
	for _, g := range d.Geometries {
		line("geometry", "%s\t%d", plain([]byte(g.Type)), g.Features)
	}
	if !d.Created.IsZero() {
		line("created", "%s", d.Created.UTC().Format(time.RFC3339))
	}
	line("revision", "%d\tcreated with %d", d.Revision, d.CreatedRevision)
	for _, p := range d.Properties {
		var types []string
		for t, n := range p.Types {
			types = append(types, fmt.Sprintf("%s %d", plain([]byte(t)), n))
		}
		slices.Sort(types)
		line("property", "%s\t%d\t%s", plain([]byte(p.Name)), p.Features, strings.Join(types, ", "))
	}
	if d.MoreProperties {
		line("property", "...\t\tthere are more names than are counted")
	}
	_ = w.Flush() // into memory
	return b.String()
}

func newFeatureSwap(a *App) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:   "swap A B",
		Short: "Exchange the names of two collections of features, at one moment",
		Long: `Exchange the names of two collections of features, at one moment for all clients
and, with --data-dir, durably: what was loaded beside a collection takes its place.
It returns when no client reads by the old names any more, which takes up to 10 s
if clients read the server's memory.`,
		Example: `  catfish load cafes.geojson --collection cafes-new
  catfish features swap cafes cafes-new
  catfish collections drop cafes-new`,
		Args: Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, names []string) error {
			if names[0] == names[1] {
				return BadUsage("%q twice, want two collections", names[0])
			}
			cl, err := f.dialServer(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if err := cl.SwapCollections(cmd.Context(), names[0], names[1]); err != nil {
				return err
			}
			if f.json {
				return a.json(struct {
					Swapped []string `json:"swapped"`
				}{names})
			}
			return a.Printf("swapped %s and %s\n", names[0], names[1])
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	return c
}
