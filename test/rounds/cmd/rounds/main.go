//go:build linux

// Command rounds lets faults happen to groups of servers, a round each, and checks what
// their clients saw. It needs root.
//
//	make test-rounds
//	bin/rounds --rounds 1000 --table rounds.md
//	bin/rounds --seed 17             one round again
//	bin/rounds --list
//
// It ends with status 1 if a promise does not hold.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/test/rounds"
)

// childArg makes this program a process of clients.
const childArg = "clients-process"

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := rounds.UsersMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context) (bool, error) {
	var o rounds.Options
	var list, verbose bool
	var names, table, lines string
	var seed uint64
	var n int
	var hold time.Duration
	flag.StringVar(&o.Bin, "bin", "bin", "directory of catfish and catfish-coordinator")
	flag.Uint64Var(&seed, "seed", 0, "of the first round; the next one has the next seed. Given alone: one round")
	flag.IntVar(&n, "rounds", 0, "how many rounds; 0: one for each fault")
	flag.StringVar(&names, "faults", "", "some faults, separated by commas; empty: all")
	flag.IntVar(&o.Groups, "groups", 1, "groups that have one store together, up to 3: slots move between them")
	flag.BoolVar(&list, "list", false, "list the faults, and the moves of several groups")
	flag.BoolVar(&o.Fenced, "fenced", true, "a stale read of a Go client breaks a promise, too")
	flag.DurationVar(&hold, "hold", 0, "how long each fault lasts; 0: as the seed says")
	flag.BoolVar(&verbose, "v", false, "say what happens to the group, and what members say")
	flag.StringVar(&table, "table", "", "file for a table of the results in Markdown")
	flag.StringVar(&lines, "json", "", "file for the results, a line each")
	flag.Parse()
	if flag.NArg() > 0 {
		return false, fmt.Errorf("rounds: unexpected argument %q", flag.Arg(0))
	}
	if list {
		for _, f := range rounds.Faults() {
			fmt.Printf("%-30s %s\n", f.Name, f.What)
		}
		fmt.Println("\nwith --groups, beside a fault:")
		for _, a := range rounds.Actions() {
			fmt.Printf("%-30s %s\n", a.Name, a.What)
		}
		return true, nil
	}
	if verbose {
		o.Trace = os.Stdout
	}
	var some []string
	if names != "" {
		some = strings.Split(names, ",")
	}
	var err error
	if o.Faults, err = rounds.Choose(some); err != nil {
		return false, err
	}
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "seed" })
	if n == 0 {
		if n = len(o.Faults); given {
			n = 1
		}
	}
	o.Program = []string{"/proc/self/exe", childArg}
	if self, err := os.Executable(); err == nil {
		o.Program[0] = self
	}
	if _, err := netns.Clean(ctx); err != nil {
		return false, err
	}
	missing, err := o.Prepare(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range missing {
		fmt.Println("NOT HERE:", m)
	}
	all, err := runAll(ctx, &o, seed, n, hold, names, lines)
	if table != "" && len(all) > 0 {
		f, create := os.Create(table)
		if create != nil {
			return false, create
		}
		if err := write(f, o.Faults, all); err != nil {
			return false, err
		}
	}
	if err := rounds.WriteTable(os.Stdout, o.Faults, all); err != nil {
		return false, err
	}
	ok := true
	for _, r := range all {
		if len(r.Broken) > 0 {
			ok = false
			fmt.Printf("BROKEN in the round of seed %d (%s): %s\n", r.Seed, r.Fault, r.Broken[0])
		}
	}
	return ok, err
}

func write(f *os.File, list []rounds.Fault, all []rounds.Result) error {
	defer f.Close()
	return rounds.WriteTable(f, list, all)
}

// runAll makes rounds until all are made, or ctx is done.
func runAll(ctx context.Context, o *rounds.Options, seed uint64, n int, hold time.Duration, names, lines string) (all []rounds.Result, err error) {
	out := io.Discard
	if lines != "" {
		f, err := os.Create(lines)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		out = f
	}
	for i := range n {
		p := rounds.NewPlan(seed+uint64(i), o.Faults, o.Groups)
		if hold > 0 {
			p.Hold = hold
		}
		began := time.Now()
		fmt.Printf("round %d of %d: %s\n", i+1, n, p.String())
		r, err := rounds.Run(ctx, *o, p)
		if ctx.Err() != nil {
			return all, nil // Ctrl-C ends rounds regularly.
		}
		if err != nil {
			return all, err
		}
		all = append(all, r)
		fmt.Printf("  %d writes acknowledged, %d unknown, %d lost, %d doubled; stale %v; %v without writes; reads %v; took %v\n", r.Acked, r.Unknown, r.Lost, r.Doubled,
			r.Stale, r.Gap.Round(time.Millisecond), r.Reads, time.Since(began).Round(100*time.Millisecond))
		if r.Action != "" {
			fmt.Printf("  %d moves begun, %d slots moved; the fault began at step %q\n", r.Begun, r.Moved, r.At)
		}
		for _, note := range r.Notes {
			fmt.Println("  note:", note)
		}
		for _, b := range r.Broken {
			fmt.Println("  BROKEN:", b)
		}
		if len(r.Broken) > 0 {
			fmt.Println("  again:", again(o, p.Seed, names))
		}
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return all, err
		}
	}
	return all, nil
}

// again is the command that makes one round again.
func again(o *rounds.Options, seed uint64, names string) string {
	s := fmt.Sprintf("bin/rounds --seed %d", seed)
	if o.Groups > 1 {
		s += fmt.Sprintf(" --groups %d", o.Groups)
	}
	if names != "" {
		s += " --faults " + names
	}
	return s
}
