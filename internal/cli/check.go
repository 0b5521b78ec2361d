package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/rstar"
)

func newCheck(a *App) *cobra.Command {
	var f clientFlags
	var sf sourceFlags
	var slab int64
	var dir string
	c := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check a tree, or a data directory",
		Long: `Check the tree of a server's collection, of boxes or features: containment, boxes, fill, levels,
versions; its writers wait meanwhile. With files, load them into a tree of this
process and check that one: a test of the files and of the tree.

With --data-dir, read the whole data directory of a server that is stopped:
check sums, that everything can be decoded, and that the log tells of the
collections and features as they are. Nothing is changed.`,
		Example: `  catfish check --server 127.0.0.1:7119
  catfish check roads.csv
  catfish check uniform --objects 100000
  catfish check --data-dir data`,
		Args:              Args(cobra.ArbitraryArgs),
		ValidArgsFunction: dataSets,
		RunE: func(cmd *cobra.Command, files []string) error {
			fs := cmd.Flags()
			if dir != "" {
				if len(files) > 0 {
					return BadUsage("--data-dir with files, want one of them")
				}
				if err := NoUse(fs, "with --data-dir, which this process checks by itself", append(append([]string{
					"server", "collection", "transport", "policy", "dial-timeout", "slab-bytes"}, FabricFlagNames...), sourceFlagNames...)...); err != nil {
					return err
				}
				return a.checkDir(&f, dir)
			}
			if len(files) == 0 {
				if err := NoUse(fs, "without files", append([]string{"slab-bytes"}, sourceFlagNames...)...); err != nil {
					return err
				}
				return a.checkServer(cmd.Context(), f)
			}
			if err := NoUse(fs, "with files, which this process checks by itself", append([]string{
				"server", "collection", "transport", "policy", "dial-timeout"}, FabricFlagNames...)...); err != nil {
				return err
			}
			sources, err := sf.openAll(files)
			if err != nil {
				return err
			}
			tree, err := rstar.New(rstar.Options{SlabBytes: slab})
			if errors.Is(err, rstar.ErrBadOptions) {
				return BadUsage("--slab-bytes %d: %w", slab, err)
			}
			if err != nil {
				return err
			}
			defer tree.Close()
			if err := a.fill(cmd.Context(), tree, tree.Load, nil, sources); err != nil {
				return err
			}
			if err := tree.Check(); err != nil {
				return err
			}
			return a.checked(f, "local", tree.Stats())
		},
	}
	f.register(c)
	f.registerJSON(c)
	sf.register(c)
	c.Flags().StringVar(&dir, "data-dir", "", "data directory of a stopped server")
	_ = c.MarkFlagDirname("data-dir") // fails only for an unknown flag
	c.Flags().Int64Var(&slab, "slab-bytes", 0, "capacity of the tree that files are loaded into, 0: default")
	return c
}

func (a *App) checkServer(ctx context.Context, f clientFlags) error {
	cl, err := f.dial(ctx, a)
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := cl.Check(ctx); err != nil {
		return err
	}
	st, err := cl.Stats(ctx)
	if err != nil {
		return err
	}
	tree, boxes := st.Collections[f.collection]
	if !boxes {
		tree = st.Features[f.collection].Tree
	}
	return a.checked(f, f.server, tree)
}

func (a *App) checked(f clientFlags, where string, st rstar.Stats) error {
	if f.json {
		return a.json(struct {
			OK      bool `json:"ok"`
			Objects int  `json:"objects"`
			Height  int  `json:"height"`
		}{true, st.Len, st.Height})
	}
	return a.Printf("ok: %s, %d objects, height %d, nodes per level %v (leaves first)\n",
		where, st.Len, st.Height, st.Nodes)
}
