package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// Moved is what moved, as commands that move print it with --json.
type Moved struct {
	DryRun bool `json:"dry_run,omitempty"`
	cluster.Result
	Plan []PlannedMove `json:"plan,omitempty"` // of --dry-run
	Map  *ClusterMap   `json:"map"`
}

// PlannedMove is a move that would begin.
type PlannedMove struct {
	placement.Part
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes uint64 `json:"bytes"` // 0: not known, or it is empty
}

// moveFlags are the flags of commands that move parts.
type moveFlags struct {
	coordinatorFlags
	moves  int
	asJSON bool
	load   loadFlags
}

func (f *moveFlags) register(c *cobra.Command) {
	f.coordinatorFlags.register(c)
	c.Flags().IntVar(&f.moves, "moves", cluster.DefaultMoves, fmt.Sprintf("how many slots and ranges move at once, 1 to %d", placement.MaxMoves))
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
}

// options checks the flags.
func (f *moveFlags) options(a *App) (cluster.Options, error) {
	if f.moves < 1 || f.moves > placement.MaxMoves {
		return cluster.Options{}, BadUsage("--moves is %d, want 1 to %d", f.moves, placement.MaxMoves)
	}
	p := &movesProgress{w: a.Err}
	return cluster.Options{Moves: f.moves, Progress: p.show}, nil
}

// run moves parts, and prints what has moved.
func (f *moveFlags) run(a *App, cmd *cobra.Command, o cluster.Options, do func(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error)) error {
	cl, err := f.dial()
	if err != nil {
		return err
	}
	defer cl.Close()
	if o.Load, o.Boxes, err = f.load.by(a, cl); err != nil {
		return err
	}
	ctx := cmd.Context()
	show := o.Progress
	o.Progress = func(p cluster.Progress) {
		if !f.load.bytes() {
			p.Done.Bytes, p.LeftBytes = 0, 0
		}
		show(p)
	}
	moved, err := do(ctx, cl, o)
	if err != nil {
		return err
	}
	if !f.load.bytes() { // It is in requests.
		moved.Bytes = 0
		for i := range moved.Plan {
			moved.Plan[i].Bytes = 0
		}
	}
	if moved.Map == nil {
		m, err := cluster.Read(ctx, cl)
		if err != nil {
			return err
		}
		moved.Map = clusterMap(m)
	}
	if f.asJSON {
		return a.json(moved)
	}
	return a.Printf("%s", moved.text())
}

func (m *Moved) text() string {
	verb, of := "moved", ""
	if m.DryRun {
		verb = "would move"
	}
	if m.Bytes > 0 {
		of = " (" + sizeText(int64(m.Bytes)) + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d parts%s\n", verb, m.Moves, of)
	for _, p := range m.pairs() {
		fmt.Fprintf(&b, "  %s -> %s: %d parts, %s\n", p.From, p.To, p.parts, sizeText(int64(p.Bytes)))
	}
	b.WriteString(m.Map.text())
	return b.String()
}

type pair struct {
	PlannedMove
	parts int
}

// pairs sums a plan up by groups.
func (m *Moved) pairs() (l []*pair) {
next:
	for _, v := range m.Plan {
		for _, p := range l {
			if p.From == v.From && p.To == v.To {
				p.parts++
				p.Bytes += v.Bytes
				continue next
			}
		}
		l = append(l, &pair{v, 1})
	}
	return l
}

func newClusterRebalance(a *App) *cobra.Command {
	var f moveFlags
	var bytes int64
	var tolerance float64
	var dry bool
	var every time.Duration
	c := &cobra.Command{
		Use:   "rebalance",
		Short: "Move slots and ranges of boxes until each group has its share by weight",
		Long: `Move slots until each group has its share by weight, of the bytes in all slots, or, with --by requests, of
the requests for them: reads and writes of ids that servers answer. One-sided reads and searches are not counted.
Ranges of boxes move until each group has its share of the boxes of each collection that is placed, and are
divided for that. Reads and writes go on.
It waits, and shows on standard error what has moved. It may be ended at any time, and run again:
what has begun goes on without it. Several may run at the same time.

With --every it does not end, and plans again each time, --moves slots at most. Of several such
commands, and coordinators with --rebalance, one begins moves at a time.`,
		Example: `  catfish cluster rebalance --dry-run --coordinators 10.0.0.1:7120
  catfish cluster rebalance --bytes 100GiB --coordinators 10.0.0.1:7120
  catfish cluster rebalance --every 10m --tolerance 0.1 --coordinators 10.0.0.1:7120`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(a)
			switch {
			case err != nil:
				return err
			case bytes < 0:
				return BadUsage("--bytes is %d, want 0 or more", bytes)
			case bytes > 0 && !f.load.bytes():
				return BadUsage("--bytes needs --by bytes")
			case !(tolerance >= 0 && tolerance <= 1):
				return BadUsage("--tolerance is %v, want 0 to 1", tolerance)
			}
			o.Bytes, o.Tolerance = uint64(bytes), tolerance
			if every != 0 {
				if bytes > 0 || dry || f.asJSON {
					return BadUsage("--every with --bytes, --dry-run or --json")
				}
				return f.automatic(a, cmd, &cluster.Automatic{Every: every, Plan: o})
			}
			return f.run(a, cmd, o, func(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error) {
				if dry {
					return planned(ctx, r, o)
				}
				result, err := cluster.Rebalance(ctx, r, o)
				return Moved{Result: result}, err
			})
		},
	}
	f.register(c)
	f.load.register(c)
	c.Flags().Var(byteSize{&bytes}, "bytes", "how much to move at most, such as 100GiB; 0: as much as is needed")
	c.Flags().Float64Var(&tolerance, "tolerance", 0.05, "if all groups are as near to their shares as this part of them, nothing moves")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would move")
	c.Flags().DurationVar(&every, "every", 0, "plan again and again, with this time between plans at least, until Ctrl-C; 0: once")
	return c
}

// automatic plans until Ctrl-C.
func (f *moveFlags) automatic(a *App, cmd *cobra.Command, p *cluster.Automatic) error {
	p.Plan.Slots, p.Plan.Progress, p.Logger = f.moves, nil, a.logger()
	if err := p.Check(); err != nil {
		return BadUsage("%v", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	p.Name = fmt.Sprintf("catfish cluster rebalance at %s, process %d", host, os.Getpid())
	cl, err := f.dial()
	if err != nil {
		return err
	}
	defer cl.Close()
	if p.Plan.Load, p.Plan.Boxes, err = f.load.by(a, cl); err != nil {
		return err
	}
	p.Run(cmd.Context(), cl)
	return nil
}

// planned is what Rebalance would move.
func planned(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error) {
	m, moves, load, err := cluster.Plan(ctx, r, o)
	if err != nil {
		return Moved{}, err
	}
	p := Moved{DryRun: true, Map: clusterMap(m), Result: cluster.Result{Moves: len(moves)}}
	for _, v := range moves {
		p.Plan = append(p.Plan, PlannedMove{v.Part, m.Groups[v.From].Name, m.Groups[v.To].Name, load.Bytes(v.Part)})
		p.Bytes += load.Bytes(v.Part)
	}
	return p, nil
}

func newClusterDrain(a *App) *cobra.Command {
	var f moveFlags
	var remove bool
	c := &cobra.Command{
		Use:   "drain GROUP",
		Short: "Move all that a group has to the others",
		Long: `Give a group weight 0, and move all that it has to the others. Reads and writes go on. It may be ended
at any time, and run again. With --remove the group is taken out of the map when it has nothing: then stop
its servers. 'catfish cluster weigh' gives it a weight again.`,
		Example: "  catfish cluster drain g4 --remove --coordinators 10.0.0.1:7120",
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(a)
			if err != nil {
				return err
			}
			return f.run(a, cmd, o, func(ctx context.Context, r cluster.Registry, o cluster.Options) (Moved, error) {
				result, err := cluster.Drain(ctx, r, args[0], o)
				if err == nil && remove {
					_, err = cluster.Remove(ctx, r, args[0])
				}
				return Moved{Result: result}, err
			})
		},
	}
	f.register(c)
	f.load.register(c)
	c.Flags().BoolVar(&remove, "remove", false, "take the group out of the map when it has nothing")
	return c
}

// movesProgress writes lines about moves.
type movesProgress struct {
	w    io.Writer
	next time.Time
	last int // moves done
}

// show writes a line every few seconds, and at the end.
func (p *movesProgress) show(s cluster.Progress) {
	now := time.Now()
	if ended := s.Left == 0 && s.Done.Moves > p.last; !ended && now.Before(p.next) {
		return
	}
	p.next, p.last = now.Add(progressEvery), s.Done.Moves
	fmt.Fprintln(p.w, movesText(s))
}

func movesText(s cluster.Progress) string {
	var b strings.Builder
	fmt.Fprintf(&b, "moved %d of %d parts", s.Done.Moves, s.Done.Moves+s.Left)
	if all := s.Done.Bytes + s.LeftBytes; all > 0 {
		fmt.Fprintf(&b, ", %s of %s", sizeText(int64(s.Done.Bytes)), sizeText(int64(all)))
	}
	m := clusterMap(s.Map)
	fmt.Fprintf(&b, "; %s;", stepsText(m.Moves))
	for i, g := range m.Groups {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s has %d", g.Name, g.Slots)
	}
	if s.Still >= cluster.LookEvery {
		fmt.Fprintf(&b, "; nothing has changed for %v", s.Still.Round(time.Second))
	}
	return b.String()
}
