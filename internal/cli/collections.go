package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/rdma"
)

func newCollections(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "collections",
		Short: "List, create and drop a server's collections",
		Long: `List, create and drop a server's collections. What is created this way is
gone when the server ends, but for features of a server with --data-dir, and
boxes and records that are created with --keep;
'catfish serve --collection' names those that are there from its start, which
cannot be dropped.`,
		Example: `  catfish collections list
  catfish collections create roads
  catfish collections drop roads`,
	}
	Group(c)
	c.AddCommand(newCollectionsList(a), newCollectionsCreate(a), newCollectionsDrop(a))
	return c
}

func newCollectionsList(a *App) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the collections and how many objects each has",
		Example: `  catfish collections list --server 10.0.0.5:7119 --json`,
		Args:    Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := f.dialServer(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			l, err := cl.Collections(cmd.Context())
			if err != nil {
				return err
			}
			if f.json {
				return a.json(struct {
					Collections []catfish.CollectionInfo `json:"collections"`
				}{l})
			}
			st, err := cl.Stats(cmd.Context())
			if err != nil {
				return err
			}
			var b strings.Builder
			for _, i := range l {
				state := ""
				if i.Kept {
					state = ", kept"
				}
				if i.Loading {
					state += ", loading"
				}
				what := "objects"
				switch i.Kind {
				case catfish.KindRecords:
					if what = "records"; i.Shards > 0 {
						what = fmt.Sprintf("records in %d shards", i.Shards)
					}
				case catfish.KindFeatures:
					what = fmt.Sprintf("features (%v)", i.Features.Space)
				}
				fmt.Fprintf(&b, "%s\t%d %s, %s%s\n", i.Name, i.Objects, what, usedText(i.UsedBytes, i.SlabBytes, st.Memory.Limit), state)
			}
			return a.Printf("%s", b.String())
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	return c
}

func newCollectionsCreate(a *App) *cobra.Command {
	var f clientFlags
	var records, features, planar, keep bool
	var opts catfish.RecordsOptions
	var about catfish.FeaturesOptions
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a collection, unless there is one of that name",
		Long: `Create a collection, and say "created"; or "exists", if there is one of that name
and kind. One of another kind, or with other options, is an error. NAME is 1 to 128
bytes of UTF-8 without spaces, slashes and control characters, and neither . nor ..`,
		Example: `  catfish collections create roads && catfish load --collection roads --file roads.csv
  catfish collections create cafes --features --title "Cafes of Andorra"
  catfish collections create roads --keep
  catfish collections create --records sessions && catfish kv put --collection sessions 7 open
  catfish collections create --records --keep accounts`,
		Args: Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, name []string) error {
			if records && features {
				return BadUsage("--records and --features, want one of them")
			}
			if keep && features {
				return BadUsage("--keep is for boxes and records; features are kept if the server has a --data-dir")
			}
			if !features {
				if err := NoUse(cmd.Flags(), "without --features", "planar", "title", "description"); err != nil {
					return err
				}
			}
			if !records {
				if err := NoUse(cmd.Flags(), "without --records", "shards", "max-bytes"); err != nil {
					return err
				}
			}
			cl, err := f.dialServer(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			// The server reports whether an existing collection has other options. Another
			// client may create it in between: then this command prints created, too.
			done := "created"
			there, err := cl.Collections(cmd.Context())
			if err != nil {
				return err
			}
			if slices.ContainsFunc(there, func(i catfish.CollectionInfo) bool { return i.Name == name[0] }) {
				done = "exists"
			}
			switch {
			case features:
				about.Space = planarOptions(planar).Space
				err = cl.CreateFeatures(cmd.Context(), name[0], about)
			case records:
				opts.Keep = keep
				err = cl.CreateRecords(cmd.Context(), name[0], opts)
			default:
				err = cl.CreateBoxes(cmd.Context(), name[0], catfish.BoxesOptions{Keep: keep})
			}
			if err != nil {
				return err
			}
			return a.collectionDone(f, done, name[0])
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	c.Flags().BoolVar(&features, "features", false, "of features: places with ids, geometries and properties (catfish features)")
	c.Flags().BoolVar(&planar, "planar", false, "with --features: x and y in any unit, which is also that of distances; else longitude and latitude, and metres")
	c.Flags().StringVar(&about.Title, "title", "", "with --features: a title, for people")
	c.Flags().StringVar(&about.Description, "description", "", "with --features: a description, for people")
	c.Flags().BoolVar(&keep, "keep", false, "of boxes, or with --records of records, that are kept in the server's --data-dir")
	c.Flags().BoolVar(&records, "records", false, "of records: values by key (catfish kv)")
	c.Flags().IntVar(&opts.Items, "items", cuckoo.MaxItems,
		"with --records: items a bucket of the key index; 1: the paper's table")
	c.Flags().IntVar(&opts.Shards, "shards", 0, ShardsUsage("with --records: "))
	c.Flags().Var(byteSize{&opts.MaxBytes}, "max-bytes", MaxBytesUsage("with --records: "))
	return c
}

// ShardsUsage is the help text of flags that divide a collection of records.
func ShardsUsage(of string) string {
	return fmt.Sprintf("%sdivide the keys into so many shards, each with a worker to itself, up to %d; 0: do not", of, catfish.MaxShards)
}

// MaxBytesUsage is the help text of flags that make a collection of records a cache.
func MaxBytesUsage(of string) string {
	return of + "a cache, with this limit of bytes, such as 1GiB, that evicts records which were not used lately; 0: no limit"
}

func newCollectionsDrop(a *App) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use:     "drop NAME",
		Short:   "Drop a collection that was created by a client, with all its objects",
		Example: `  catfish collections drop roads`,
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, name []string) error {
			cl, err := f.dialServer(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			ok, err := cl.DropCollection(cmd.Context(), name[0])
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("no collection %q: nothing was changed", name[0])
			}
			return a.collectionDone(f, "dropped", name[0])
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	return c
}

func (a *App) collectionDone(f clientFlags, done, name string) error {
	if f.json {
		return a.json(struct {
			Collection string `json:"collection"`
			Done       string `json:"done"`
		}{name, done})
	}
	if done == "exists" {
		return a.Printf("%s exists\n", name)
	}
	return a.Printf("%s %s\n", done, name)
}

// searchFlagNames are the flags of clientFlags about searches.
var searchFlagNames = []string{"collection", "policy"}

// registerServer is register for commands about the server.
func (f *clientFlags) registerServer(c *cobra.Command) {
	f.register(c)
	for _, name := range searchFlagNames {
		_ = c.Flags().MarkHidden(name) // fails only for an unknown name
	}
}

// dialServer is dial for commands about the server.
func (f *clientFlags) dialServer(ctx context.Context, a *App) (*catfish.Client, error) {
	if err := NoUse(f.flags, "for the server's collections", searchFlagNames...); err != nil {
		return nil, err
	}
	return f.dialBusy(ctx, a)
}

// dialBusy is dial, but uses plain sockets if a server has no memory for rings: that
// is when a user wants to see its status, or drop a collection.
func (f *clientFlags) dialBusy(ctx context.Context, a *App) (*catfish.Client, error) {
	c, err := f.dial(ctx, a)
	if errors.Is(err, rdma.ErrRejected) && f.transport == catfish.TransportAuto && f.policy == "" {
		a.logger().Warn("refused; asking by plain sockets", "err", err)
		plain := *f
		plain.transport = catfish.TransportTCP
		return plain.dial(ctx, a)
	}
	return c, err
}
