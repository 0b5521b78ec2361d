package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/datasets"
)

func newGen(a *App) *cobra.Command {
	var sf sourceFlags
	var format, out string
	c := &cobra.Command{
		Use:   "gen NAME",
		Short: "Write a data set to a file",
		Long: `Write what a generator makes, or what a file holds, as CSV or in either
encoding of rea02. The generators are uniform, skewed and rea02-like (an
imitation of rea02, not the real set); california is a real road network.
The same seed gives the same file on every machine.`,
		Example: `  catfish gen uniform --objects 1000 --seed 1 --out uniform.csv
  catfish gen rea02-like --as rea02 --out imitation.rea02
  catfish gen andorra.osm.pbf --highways > roads.csv`,
		Args:              Args(cobra.ExactArgs(1)),
		ValidArgsFunction: dataSets,
		RunE: func(cmd *cobra.Command, names []string) error {
			to, err := datasets.ParseFormat(format)
			if err != nil {
				return BadUsage("--as: %w", err)
			}
			src, err := sf.openAll(names)
			if err != nil {
				return err
			}
			return a.gen(cmd.Context(), src[0], to, out)
		},
	}
	sf.register(c)
	c.Flags().StringVar(&format, "as", "csv", "format to write: csv, rea02 or rec")
	c.Flags().StringVarP(&out, "out", "o", "-", "file to write, - for standard output")
	Complete(c, "as", "csv", "rea02", "rec")
	return c
}

// gen writes to a new file beside out and renames it when it is complete,
// so that a failure leaves the old file unchanged.
func (a *App) gen(ctx context.Context, src *datasets.Source, to datasets.Format, out string) error {
	if out == "-" {
		_, err := datasets.Write(untilDone{ctx, a.Out}, to, src)
		return usageIfUnsupported(err)
	}
	f, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	// Fails after the rename, which is fine.
	defer func() { _ = os.Remove(f.Name()) }()
	defer f.Close()
	n, err := datasets.Write(untilDone{ctx, f}, to, src)
	if err != nil {
		return usageIfUnsupported(err)
	}
	// CreateTemp's 0600 is meant for secrets.
	if err := errors.Join(f.Chmod(0o644), f.Close(), os.Rename(f.Name(), out)); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	fmt.Fprintf(a.Err, "wrote %d objects of %s to %s\n", n, src.Name(), out)
	return nil
}

// usageIfUnsupported: a format that cannot be written can only come from a
// user's --as.
func usageIfUnsupported(err error) error {
	if errors.Is(err, datasets.ErrUnsupported) {
		return usageError{err}
	}
	return err
}

// untilDone is a writer that fails when the context has ended.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}
