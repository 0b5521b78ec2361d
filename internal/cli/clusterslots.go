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
	var of rangeFlags
	c := &cobra.Command{
		Use:   "move SLOTS GROUP | --collection COLLECTION --range START GROUP",
		Short: "Move named slots, or a range of boxes, to a group",
		Long: `Move named slots to a group: one, a range, or several, such as 7,100-199; or the range of a collection of boxes that
begins at a position ('catfish cluster status --json' shows them). What the group has stays.
The next 'catfish cluster rebalance' may move them again.`,
		Example: `  catfish cluster move 7 g2 --coordinators 10.0.0.1:7120
  catfish cluster move 100-199 g2 --from g1 --coordinators 10.0.0.1:7120
  catfish cluster move --collection roads --range 4611686018427387904 g2 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			to := args[len(args)-1]
			parts, err := of.parts(args[:len(args)-1])
			if err != nil {
				return err
			}
			o, err := f.options(a)
			if err != nil {
				return err
			}
			return f.run(a, cmd, o, func(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error) {
				result, err := cluster.Move(ctx, r, parts, from, to, o)
				return Moved{Result: result}, err
			})
		},
	}
	f.register(c)
	of.register(c)
	c.Flags().StringVar(&from, "from", "", "refuse if another group than this one has one of them")
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
	var of rangeFlags
	c := &cobra.Command{
		Use:   "undo SLOTS | --collection COLLECTION --range START | --all",
		Short: "End moves that are not decided",
		Long: `End moves of slots, such as 7,100-199, or of a range of boxes, or all, unless the slot has its new owner already: that move goes on
(step drop). The slot stays where it was, and nothing is lost. A 'catfish cluster rebalance' that runs begins
such moves again: end it first.`,
		Example: `  catfish cluster undo 7 --coordinators 10.0.0.1:7120
  catfish cluster undo --all --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var parts []placement.Part
			if all == (len(args) == 1 || of.on()) {
				return BadUsage("want slots, a range, or --all")
			}
			if !all {
				var err error
				if parts, err = of.parts(args); err != nil {
					return err
				}
			}
			return f.with(cmd.Context(), func(ctx context.Context, cl *coord.Client) error {
				undone, decided, err := cluster.Undo(ctx, cl, parts)
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
	of.register(c)
	c.Flags().BoolVar(&all, "all", false, "all moves")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// rangeFlags name a range of boxes.
type rangeFlags struct{ collection, start string }

func (f *rangeFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.collection, "collection", "", "a collection of boxes, with --range")
	c.Flags().StringVar(&f.start, "range", "", "the first position of a range of --collection, in place of slots")
}

func (f *rangeFlags) on() bool { return f.collection != "" || f.start != "" }

// parts are the slots of an argument, or the range.
func (f *rangeFlags) parts(args []string) ([]placement.Part, error) {
	if f.on() == (len(args) == 1) {
		return nil, BadUsage("want slots, or --collection and --range")
	}
	if f.on() {
		start, err := parsePosition("range", f.start)
		if err != nil || start == nil || f.collection == "" {
			return nil, BadUsage("--collection %q and --range %q, want a collection of boxes and a position from 0 to 18446744073709551615", f.collection, f.start)
		}
		return []placement.Part{{Collection: f.collection, Start: *start}}, nil
	}
	slots, err := parseSlots(args[0])
	return slotParts(slots), err
}

// slotParts are slots as parts.
func slotParts(slots []uint16) (parts []placement.Part) {
	for _, s := range slots {
		parts = append(parts, placement.Part{Slot: s})
	}
	return parts
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
