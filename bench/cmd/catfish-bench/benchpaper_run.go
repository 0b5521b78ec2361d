package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// reachable drops the networks that this process cannot create, and reports
// them; for networks requested by name that is an error.
func (f paperFlags) reachable(ctx context.Context, want []paper.Network) (have []paper.Network, skipped []string, err error) {
	var why error
	if slices.ContainsFunc(want, func(n paper.Network) bool { return n.Rate > 0 }) {
		why = netns.Available(ctx)
	}
	switch {
	case why == nil:
		return want, nil, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case f.chosen("network"):
		return nil, nil, fmt.Errorf("--network: %w", why)
	}
	for _, n := range want {
		if n.Rate == 0 {
			have = append(have, n)
		} else {
			skipped = append(skipped, fmt.Sprintf("NOT MEASURED: network of %s: %v", n, why))
		}
	}
	return have, skipped, nil
}

// networkTransports are the transports that work through a network.
func networkTransports() []string {
	if ofi.Built {
		return []string{catfish.TransportSoft, catfish.TransportOFI}
	}
	return []string{catfish.TransportSoft}
}

func (a *app) benchPaper(ctx context.Context, f paperFlags) (err error) {
	plan, err := f.plan()
	if err != nil {
		return err
	}
	networks, skipped, err := f.reachable(ctx, plan.networks)
	if err != nil {
		return err
	}
	for _, s := range skipped {
		fmt.Fprintln(a.Err, s)
	}
	if f.asPaper {
		fmt.Fprintf(a.Err, "as the paper:\n  %s\nnot as in the paper, for no option makes it so:\n  %s\n",
			strings.Join(paper.PresetHas, "\n  "), strings.Join(paper.PresetLacks, "\n  "))
	}
	if paper.SharedCores(plan.set) {
		fmt.Fprintln(a.Err, "server and clients share cores: see the report's warning")
	}
	if err := a.cleanNetworks(ctx, networks); err != nil {
		return err
	}
	transports := networkTransports()
	if slices.Contains(transports, catfish.TransportOFI) {
		plan.set.FabricProvider = "tcp" // There is no card between namespaces.
	}
	store, torn, err := paper.Open(f.out, plan.set, f.fresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if torn {
		fmt.Fprintf(a.Err, "%s ended within a point, which is measured again\n", paper.PointsFile)
	}
	cells := paper.Cells(plan.experiments, networks, transports, plan.clients)
	runner := &paper.Runner{Settings: plan.set, Store: store, Known: catfish.Schemes()[1:]}
	if runner.Spawn, err = spawner(""); err != nil {
		return err
	}
	micro, err := a.openMicro(f, plan, networks, transports, runner.Spawn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, micro.store.Close()) }()
	missing := runner.Missing(cells)
	all := missing + micro.missing()
	fmt.Fprintf(a.Err, "%d points to measure, %d are there\n", all,
		len(store.All())+len(micro.store.All()))
	if runner.Queries, err = a.paperQueries(f.out, plan, missing); err != nil {
		return err
	}
	show := paperProgress{newSteps(a.Err, cli.IsTerminal(a.Err))}
	points := io.Discard
	if f.json {
		points = a.Out
	}
	runner.Note = show.note
	runner.Progress = func(p paper.Progress[paper.Point]) {
		show.point(p)
		_ = json.NewEncoder(points).Encode(p.Point.Row) // The store keeps the point in any case.
	}
	if err = micro.run(ctx, show, points); err == nil {
		show.set(0, missing)
		err = runner.Run(ctx, cells)
	}
	show.end()
	doc := paper.Report{
		Settings: plan.set, Command: f.command, Experiments: plan.experiments,
		Points: store.All(), Micro: micro.store.All(), Skipped: skipped, Simulated: plan.simulated,
	}.Document()
	if err != nil {
		left := runner.Missing(cells) + micro.missing()
		doc.Warnings = append(doc.Warnings, fmt.Sprintf(
			"NOT FINISHED: %d of the %d points of this run are missing", left, all))
	}
	if written := report.Write(f.out, doc); written != nil {
		return errors.Join(err, written)
	}
	if err != nil {
		return fmt.Errorf("%w\nWhat was measured is kept: the same command goes on from here", err)
	}
	return a.paperDone(f, store.All(), micro.store.All(), skipped)
}

// cleanNetworks removes the remains of a killed run before it creates other
// networks.
func (a *app) cleanNetworks(ctx context.Context, networks []paper.Network) error {
	if !slices.ContainsFunc(networks, func(n paper.Network) bool { return n.Rate > 0 }) {
		return nil
	}
	removed, err := netns.Clean(ctx)
	if len(removed) > 0 {
		fmt.Fprintf(a.Err, "removed what a killed run left: %s\n", strings.Join(removed, ", "))
	}
	return err
}

// paperQueries makes the queries of figure 14 if the run measures it.
func (a *app) paperQueries(dir string, plan paperPlan, missing int) (string, error) {
	wanted := slices.ContainsFunc(plan.experiments, func(e paper.Experiment) bool {
		return slices.Contains(e.Figures, "14")
	})
	if !wanted || missing == 0 {
		return "", nil
	}
	if plan.set.Queries != paper.QuerySet {
		return plan.set.Queries, nil
	}
	fmt.Fprintf(a.Err, "making the queries %s of %s\n", paper.QuerySet, plan.set.Data)
	return paper.WriteQueries(dir, plan.set)
}

// paperDone prints the report's path, and checks the results if --check asks for it.
func (a *app) paperDone(f paperFlags, points map[string]paper.Point, micro map[string]paper.MicroPoint,
	skipped []string) error {
	for _, s := range skipped { // Printed again: much output came in between.
		fmt.Fprintln(a.Err, s)
	}
	if !f.json {
		fmt.Fprintf(a.Out, "%d points, %s\n", len(points)+len(micro), filepath.Join(f.out, report.HTMLFile))
	}
	if !f.check {
		return nil
	}
	tests, failed := paper.Check(points)
	for _, line := range append(paper.Judge(points), paper.JudgeMicro(micro)...) {
		fmt.Fprintln(a.Err, line)
	}
	more, failedMicro := paper.CheckMicro(micro)
	tests, failed = tests+more, append(failed, failedMicro...)
	if len(failed) > 0 {
		return fmt.Errorf("%w: %d of %d checks fail:\n%s", errCheck, len(failed), tests, strings.Join(failed, "\n"))
	}
	fmt.Fprintf(a.Err, "%d checks of counts and orderings hold\n", tests)
	return nil
}

var errCheck = errors.New("the results are not as they must be")
