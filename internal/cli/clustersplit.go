package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/wire"
)

// ClusterSplit is what 'cluster split --json' prints.
type ClusterSplit struct {
	At uint64 `json:"at,string"` // where the new range begins
	ClusterBoxes
}

func newClusterSplit(a *App) *cobra.Command {
	var f coordinatorFlags
	var collection, at, start, keyFile string
	var asJSON bool
	c := &cobra.Command{
		Use:   "split --collection COLLECTION",
		Short: "Divide a range of a collection of boxes",
		Long: `Divide a range of a collection of boxes in the map. Both parts are of the group that has it, with its limits
for the size of boxes; no box moves, and reads and writes go on.

The new range begins at the position --at on the collection's curve. Without it, the groups say where their boxes are, and the
range is divided at the median: the one that begins at --range, or the one with the most boxes. 'catfish cluster status --json'
shows where ranges begin.`,
		Example: `  catfish cluster split --collection roads --coordinators 10.0.0.1:7120
  catfish cluster split --collection roads --at 4611686018427387904 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var cut cluster.Cut
			var err error
			if err = wire.CheckName(collection); err == nil {
				cut.At, err = parsePosition("at", at)
			}
			if err == nil {
				cut.Start, err = parsePosition("range", start)
			}
			if err != nil {
				return BadUsage("%w", err)
			}
			key, err := clientKey(keyFile)
			if err != nil {
				return err
			}
			return f.with(cmd.Context(), func(ctx context.Context, cl *coord.Client) error {
				m, at, err := cluster.Split(ctx, cl, collection, cut, cluster.AskBoxLoads(cl, a.loadOptions(key)))
				if err != nil {
					return err
				}
				b := clusterBoxes(m, curveOf(m, collection))
				if asJSON {
					return a.json(ClusterSplit{at, b})
				}
				return a.Printf("a range of %s begins at %d, %.3f of the curve\n%s", collection, at, float64(at)/(1<<64), b.text())
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&collection, "collection", "", "the collection of boxes")
	c.Flags().StringVar(&at, "at", "", "the first position of the new range, 0 to 18446744073709551615; empty: the median of the range's boxes")
	c.Flags().StringVar(&start, "range", "", "the first position of the range that is divided; empty: the range that has --at, or the most boxes")
	c.Flags().StringVar(&keyFile, "key-file", "", "file with the key that servers want, of an admin of all collections; empty: $"+keyVariable)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// parsePosition parses a position on a curve, nil if the text is empty.
func parsePosition(flag, text string) (*uint64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--%s %q, want a position from 0 to 18446744073709551615", flag, text)
	}
	return &n, nil
}
