package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench/netns"
	benchpolicies "github.com/catfish-index/catfish/bench/policies"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/cli"
)

type policiesFlags struct {
	candidates                       []string
	reference, cells, json, markdown string
	rounds, seeds, objects           int
	resume, quick, list              bool

	command string // the typed command
}

func newBenchPolicies(a *app) *cobra.Command {
	var f policiesFlags
	c := &cobra.Command{
		Use:   "policies",
		Short: "Compare policies, and builds, over many workloads in one table",
		Long: `Compare policies, and builds, over many workloads in one table. A candidate is
NAME=BINARY:SCHEME, or SCHEME for this program's own: the binary may be an
older build, or one with a part taken out. Cells are workloads, on the first
two cores of this machine or simulated; --list prints them. Those that go
through a network need root and iproute2.

In each round every candidate runs each real cell once, in an order that
rotates. The table shows ratios to the reference within rounds: geometric
mean and its standard error, more is better. Simulated cells are
deterministic and run once for each seed. The bottom lines are geometric
means over cells and the worst cell.`,
		Example: `  catfish bench policies --candidate paper --candidate cost --rounds 8 --json cells.jsonl --markdown table.md
  catfish bench policies --candidate old=/opt/old/catfish:cost --candidate cost --cells 'real, shm'
  catfish bench policies --list --cells simulated`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.quick && !cmd.Flags().Changed("objects") {
				f.objects = benchpolicies.QuickObjects
			}
			f.command = typedShell(cmd)
			err := a.benchPolicies(cmd.Context(), f)
			if errors.Is(err, benchpolicies.ErrUsage) {
				return cli.BadUsage("%w", err)
			}
			return err
		},
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.candidates, "candidate", []string{"paper", "cost"}, "NAME=BINARY:SCHEME, or SCHEME of this program; repeatable")
	fs.StringVar(&f.reference, "reference", "", "name of the candidate that others are compared with; empty: the first")
	fs.StringVar(&f.cells, "cells", "", "regular expression for the lines to measure, as --list prints them; empty: all")
	fs.IntVar(&f.rounds, "rounds", 8, "of real cells; an error of fewer than four says little")
	fs.IntVar(&f.seeds, "seeds", 1, "of simulated cells, from 1 on")
	fs.IntVar(&f.objects, "objects", 2_000_000, "how many objects a generator makes")
	fs.StringVar(&f.json, "json", "", "file to append each measurement to as a JSON object")
	fs.BoolVar(&f.resume, "resume", false, "take the measurements that are in --json, and go on from them")
	fs.StringVar(&f.markdown, "markdown", "", "file to write the table to, in Markdown")
	fs.BoolVar(&f.quick, "quick", false, fmt.Sprintf("%d objects and short runs: shows that all works, not how fast", benchpolicies.QuickObjects))
	fs.BoolVar(&f.list, "list", false, "print the cells, and do nothing else")
	return c
}

// typedShell returns the command in a form that a shell can repeat.
func typedShell(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString(cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=:./,") != "" {
				v = "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
			}
			fmt.Fprintf(&b, " --%s=%s", f.Name, v)
		}
	})
	return b.String()
}

// comparison checks all flags. The caller closes the store.
func (f policiesFlags) comparison(ctx context.Context, cells []benchpolicies.Cell) (*benchpolicies.Comparison, error) {
	for _, v := range []struct {
		flag  string
		value int
	}{{"rounds", f.rounds}, {"seeds", f.seeds}, {"objects", f.objects}} {
		if v.value < 1 {
			return nil, cli.BadUsage("--%s is %d, want 1 or more", v.flag, v.value)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	c := &benchpolicies.Comparison{Cells: cells, Rounds: f.rounds, Seeds: f.seeds, Objects: f.objects, Quick: f.quick}
	if c.Candidates, err = benchpolicies.ParseCandidates(f.candidates, self); err != nil {
		return nil, err
	}
	if f.reference != "" {
		c.Reference = slices.IndexFunc(c.Candidates, func(p benchpolicies.Candidate) bool { return p.Name == f.reference })
		if c.Reference < 0 {
			return nil, cli.BadUsage("--reference %q is none of the candidates", f.reference)
		}
	}
	for i := range c.Candidates {
		if err := c.Candidates[i].Check(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(cells, func(c benchpolicies.Cell) bool { return c.Gbits > 0 }) {
		if err := netns.Available(ctx); err != nil {
			return nil, fmt.Errorf("%w\nLeave out what needs a network: --cells 'shm|simulated'", err)
		}
	}
	c.Store, err = benchpolicies.OpenStore(f.json, f.resume)
	return c, err
}

func (a *app) benchPolicies(ctx context.Context, f policiesFlags) (err error) {
	avail, err := affinity.Available()
	if err != nil {
		return err
	}
	// One core each, on machines with more cores too, so that the tables of two
	// machines are of the same workloads.
	cells, err := benchpolicies.Select(benchpolicies.Cells(avail[:1], avail[min(1, len(avail)-1):][:1]), f.cells)
	if err != nil {
		return err
	}
	if f.list {
		for i := range cells {
			if err := a.Printf("%s", cells[i].String()); err != nil {
				return err
			}
		}
		return nil
	}
	c, err := f.comparison(ctx, cells)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Store.Close()) }()
	if slices.ContainsFunc(cells, func(c benchpolicies.Cell) bool { return c.Gbits > 0 }) {
		removed, err := netns.Clean(ctx)
		if err != nil {
			return err
		}
		if len(removed) > 0 {
			fmt.Fprintf(a.Err, "removed what a killed run left: %s\n", strings.Join(removed, ", "))
		}
	}
	c.Note = a.note
	err = c.Run(ctx)
	if err != nil && !errors.Is(err, benchpolicies.ErrOther) && f.json != "" && len(c.Store.Records) > 0 {
		err = fmt.Errorf("%w\nWhat was measured is kept: the same command with --resume goes on from here", err)
	}
	if len(c.Store.Records) == 0 || errors.Is(err, benchpolicies.ErrOther) {
		return err
	}
	// If some measurements are missing, the table shows the others.
	return errors.Join(err, a.writePolicies(c, f))
}

func (a *app) writePolicies(c *benchpolicies.Comparison, f policiesFlags) error {
	table, err := c.Table(f.command)
	if err != nil {
		return err
	}
	if err := table.Write(a.Out); err != nil || f.markdown == "" {
		return err
	}
	file, err := os.Create(f.markdown)
	if err != nil {
		return fmt.Errorf("--markdown: %w", err)
	}
	return errors.Join(table.WriteMarkdown(file), file.Close())
}
