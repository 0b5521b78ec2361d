package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/internal/child"
)

// paperMicro is the part of a run that figure 9 needs. If the figure was not
// requested, it only holds the points measured before.
type paperMicro struct {
	store  *paper.MicroStore
	cells  []paper.MicroCell
	runner paper.MicroRunner
}

func (a *app) openMicro(f paperFlags, plan paperPlan, networks []paper.Network, transports []string,
	spawn child.Spawn) (*paperMicro, error) {
	store, torn, err := paper.OpenMicro(f.out, plan.set, f.fresh)
	if err != nil {
		return nil, err
	}
	if torn {
		fmt.Fprintf(a.Err, "%s ended within a point, which is measured again\n", paper.MicroFile)
	}
	return &paperMicro{
		store: store, cells: paper.MicroCells(plan.experiments, networks, transports, plan.sizes),
		runner: paper.MicroRunner{Settings: plan.set, Store: store, Spawn: spawn},
	}, nil
}

func (m *paperMicro) missing() int { return m.runner.Missing(m.cells) }

func (m *paperMicro) run(ctx context.Context, show paperProgress, points io.Writer) error {
	m.runner.Note = show.note
	m.runner.Progress = func(p paper.Progress[paper.MicroPoint]) {
		show.micro(p)
		_ = json.NewEncoder(points).Encode(p.Point) // The store keeps the point in any case.
	}
	return m.runner.Run(ctx, m.cells)
}
