package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/rstar"
)

// writeFlags are the flags of commands that change one object.
type writeFlags struct {
	clientFlags
	id uint64
}

func (f *writeFlags) register(c *cobra.Command) {
	f.clientFlags.register(c)
	f.registerJSON(c)
	c.Flags().Uint64Var(&f.id, "id", 0, "the object's id")
}

// doneJSON is the output of the writing commands.
type doneJSON struct {
	ID        uint64 `json:"id"`
	Done      string `json:"done"`
	Transport string `json:"transport"`
}

// write checks the flags, connects and calls do, which reports whether
// the object existed.
func (a *App) write(cmd *cobra.Command, f writeFlags, done string, at rstar.Rect,
	do func(context.Context, *catfish.Client) (bool, error)) error {
	if !cmd.Flags().Changed("id") {
		return BadUsage("--id is missing, want the object's id")
	}
	cl, err := f.dial(cmd.Context(), a)
	if err != nil {
		return err
	}
	defer cl.Close()
	found, err := do(cmd.Context(), cl)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("no object %d at %v: nothing was changed", f.id, rectJSON(at))
	}
	if f.json {
		return a.json(doneJSON{f.id, done, cl.Info().Transport})
	}
	return a.Printf("%s %d\n", done, f.id)
}

func newInsert(a *App) *cobra.Command {
	var f writeFlags
	var bbox string
	c := &cobra.Command{
		Use:   "insert --id ID --bbox minx,miny,maxx,maxy",
		Short: "Add one object",
		Long: `Add one object. Ids need not be unique: inserting the same object twice
stores it twice.`,
		Example: `  catfish insert --id 7 --bbox 0.1,0.1,0.2,0.2`,
		Args:    Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := parseRect("bbox", bbox)
			if err != nil {
				return err
			}
			return a.write(cmd, f, "inserted", r,
				func(ctx context.Context, cl *catfish.Client) (bool, error) {
					return true, cl.Insert(ctx, r, f.id)
				})
		},
	}
	f.register(c)
	c.Flags().StringVar(&bbox, "bbox", "", "the object's rectangle (or --rect)")
	return c
}

func newDelete(a *App) *cobra.Command {
	var f writeFlags
	var bbox string
	c := &cobra.Command{
		Use:   "delete --id ID --bbox minx,miny,maxx,maxy | delete ID...",
		Short: "Remove one object, or features by id",
		Long: `Remove one object with exactly this id and rectangle. It is a failure
if there is none. In a collection of features: remove those of ids.`,
		Example: `  catfish delete --id 7 --bbox 0.1,0.1,0.2,0.2
  catfish delete cafe-7 --collection cafes`,
		Args: Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) > 0 {
				if err := NoUse(cmd.Flags(), "with features, which their id is enough for", "id", "bbox"); err != nil {
					return err
				}
				cl, fs, err := f.dialFeatures(cmd.Context(), a)
				if err != nil {
					return err
				}
				defer cl.Close()
				return a.featureDelete(cmd.Context(), fs, f.json, ids, kv.Condition{})
			}
			r, err := parseRect("bbox", bbox)
			if err != nil {
				return err
			}
			return a.write(cmd, f, "deleted", r,
				func(ctx context.Context, cl *catfish.Client) (bool, error) {
					return cl.Delete(ctx, r, f.id)
				})
		},
	}
	f.register(c)
	c.Flags().StringVar(&bbox, "bbox", "", "the object's rectangle (or --rect)")
	return c
}

func newUpdate(a *App) *cobra.Command {
	var f writeFlags
	var from, to string
	c := &cobra.Command{
		Use:   "update --id ID --from minx,miny,maxx,maxy --to minx,miny,maxx,maxy",
		Short: "Move one object",
		Long: `Move one object in one step: a search sees it at the old place or at
the new one, never at both or neither. It is a failure if there is no
object with exactly this id and old rectangle.`,
		Example: `  catfish update --id 7 --from 0.1,0.1,0.2,0.2 --to 0.3,0.3,0.4,0.4`,
		Args:    Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			old, err := parseRect("from", from)
			if err != nil {
				return err
			}
			now, err := parseRect("to", to)
			if err != nil {
				return err
			}
			return a.write(cmd, f, "updated", old,
				func(ctx context.Context, cl *catfish.Client) (bool, error) {
					return cl.Update(ctx, old, now, f.id)
				})
		},
	}
	f.register(c)
	c.Flags().StringVar(&from, "from", "", "the object's rectangle")
	c.Flags().StringVar(&to, "to", "", "where it goes")
	return c
}
