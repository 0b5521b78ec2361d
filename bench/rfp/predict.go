package rfp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/sim"
)

// Cluster is the name of the paper's cluster.
const Cluster = "connectx3"

// Page has the figures.
type Page struct {
	Cluster *sim.Cluster
	Seed    uint64
	Tables  []Table
}

// A part of the page makes one table or some.
type part struct {
	name string
	make func(*lab) []Table
}

func one(f func(*lab) Table) func(*lab) []Table {
	return func(l *lab) []Table { return []Table{f(l)} }
}

var parts = []part{
	{"card", one((*lab).card)}, {"peaks", one((*lab).peaks)}, {"latencies", one((*lab).latencies)},
	{"shares", one((*lab).shares)}, {"values", one((*lab).values)}, {"skew", one((*lab).skew)},
	{"texts", one((*lab).texts)}, {"clients", one((*lab).curves)}, {"threads", one((*lab).threads)},
	{"inbound", one((*lab).inboundByClients)}, {"sizes", one((*lab).bySize)}, {"skewshares", one((*lab).skewShares)}, {"cdf", one((*lab).cdf)},
	{"service", one((*lab).slow)}, {"fetch", one((*lab).fetchSizes)}, {"events", one((*lab).sleeping)},
	{"tree", (*lab).trees},
}

// Parts are the names of the parts for Predict.
func Parts() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// Predict simulates parts of the page, none: all of them, on a cluster, which
// is the paper's or derived from it. Equal arguments give equal tables. After
// an error the tables that are finished are returned; errors about names and
// clusters wrap harness.ErrConfig. note is called after each part.
func Predict(ctx context.Context, cl *sim.Cluster, seed uint64, wanted []string, note func(string)) (Page, error) {
	p := Page{Cluster: cl, Seed: seed}
	for _, name := range wanted {
		if !slices.Contains(Parts(), name) {
			return p, fmt.Errorf("%w: table %q is unknown, want some of %s", harness.ErrConfig, name, strings.Join(Parts(), ", "))
		}
	}
	l, err := newLab(ctx, cl, seed, note)
	if err != nil {
		return p, err
	}
	for _, part := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, part.name) {
			continue
		}
		tables := part.make(l)
		if l.err != nil {
			return p, l.err
		}
		note("simulated: " + tables[0].Title)
		p.Tables = append(p.Tables, tables...)
	}
	return p, nil
}

// Missed counts the numbers that are independent of fitted, seen or given
// values, and those of them that are off.
func (p Page) Missed() (missed, predicted int) {
	for _, t := range p.Tables {
		for _, v := range t.Values {
			if v.Printed > 0 && v.Mark == Predicted {
				predicted++
				if v.Off() {
					missed++
				}
			}
		}
	}
	return missed, predicted
}

const about = `# RFP's numbers, simulated

**Nothing on this page was measured.** It is made by ` + "`make rfp-docs`" + `: do not edit it. ` + "`catfish bench rfp`" + ` prints it.

"RFP: A Remote Fetching Paradigm for RDMA-Accelerated Systems" (Su et al.,
https://arxiv.org/abs/1512.07805) leaves answers in the server's memory and lets clients
read them. Here are its printed numbers beside those of a model of its cluster
(` + "`bench/sim/clusters/connectx3.toml`" + `), and what the model says about fetched answers
for services like Catfish. Clients that choose how much they fetch, fall back or compare both
ways do it by Catfish's own code (` + "`internal/fetch`" + `). What the parameters mean, and what
could not be reproduced, is in [rfp.md](rfp.md).

*fitted*: a parameter was chosen so that it comes out; *given*: it is a parameter; *follows*:
from such numbers, by arithmetic (half or a third of the in-bound rate, the out-bound rate) or
Little's law; *seen*: an assumption was chosen after a look at it; no mark: predicted,
independently of these. **off**: by more than 20 %.

`

// Write writes the page.
func (p Page) Write(w io.Writer) error {
	missed, predicted := p.Missed()
	_, err := fmt.Fprintf(w, "%sCluster %s (%s), seed %d. Of %d predicted numbers %d are off.\n",
		about, p.Cluster.Name, p.Cluster.About, p.Seed, predicted, missed)
	for _, t := range p.Tables {
		if err == nil {
			err = t.Write(w)
		}
	}
	if err != nil {
		return fmt.Errorf("rfp: writing the page: %w", err)
	}
	return nil
}

// WriteJSON writes a row for each value.
func (p Page) WriteJSON(w io.Writer) error {
	var errs []error
	for _, t := range p.Tables {
		errs = append(errs, t.WriteJSON(w))
	}
	return errors.Join(errs...)
}
