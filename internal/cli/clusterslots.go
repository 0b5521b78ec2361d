package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
)

func newClusterMove(a *App) *cobra.Command {
	var f moveFlags
	var from string
	c := &cobra.Command{
		Use:   "move SLOTS GROUP",
		Short: "Move named slots to a group",
		Long: `Move named slots to a group: one, a range, or several, such as 7,100-199. Those that the group has stay.
The next 'catfish cluster rebalance' may move them again.`,
		Example: `  catfish cluster move 7 g2 --coordinators 10.0.0.1:7120
  catfish cluster move 100-199 g2 --from g1 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			slots, err := parseSlots(args[0])
			if err != nil {
				return err
			}
			o, err := f.options(a)
			if err != nil {
				return err
			}
			return f.run(a, cmd, o, func(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error) {
				result, err := cluster.Move(ctx, r, slots, from, args[1], o)
				return Moved{Result: result}, err
			})
		},
	}
	f.register(c)
	c.Flags().StringVar(&from, "from", "", "refuse if another group than this one has one of the slots")
	return c
}

// Undone is what 'cluster undo --json' prints.
type Undone struct {
	Undone  int `json:"undone"`
	Decided int `json:"decided"` // moves that have another owner already, and continue
}

func newClusterUndo(a *App) *cobra.Command {
	var f coordinatorFlags
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "undo SLOTS | --all",
		Short: "End moves that are not decided",
		Long: `End moves of slots, such as 7,100-199, or all, unless the slot has its new owner already: that move goes on
(step drop). The slot stays where it was, and nothing is lost. A 'catfish cluster rebalance' that runs begins
such moves again: end it first.`,
		Example: `  catfish cluster undo 7 --coordinators 10.0.0.1:7120
  catfish cluster undo --all --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var slots []uint16
			if all == (len(args) == 1) {
				return BadUsage("want slots, or --all")
			}
			if !all {
				var err error
				if slots, err = parseSlots(args[0]); err != nil {
					return err
				}
			}
			return f.with(cmd.Context(), func(ctx context.Context, cl *coord.Client) error {
				undone, decided, err := cluster.Undo(ctx, cl, slots)
				switch {
				case err != nil:
					return err
				case asJSON:
					return a.json(Undone{undone, decided})
				case decided > 0:
					return a.Printf("%d moves undone; %d are decided, and go on\n", undone, decided)
				}
				return a.Printf("%d moves undone\n", undone)
			})
		},
	}
	f.register(c)
	c.Flags().BoolVar(&all, "all", false, "all moves")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// parseSlots parses slots and ranges of them, such as 7,100-199.
func parseSlots(text string) (slots []uint16, err error) {
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, badSlots(text, part)
		}
		b, err := strconv.ParseUint(last, 10, 16)
		if err != nil || a > b || b >= placement.Slots {
			return nil, badSlots(text, part)
		}
		for s := a; s <= b; s++ {
			slots = append(slots, uint16(s))
		}
	}
	return slots, nil
}

func badSlots(text, part string) error {
	return BadUsage("slots %q: %q, want a slot from 0 to %d or a range such as 100-199", text, part, placement.Slots-1)
}
