package policies

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Comparison says what to measure.
type Comparison struct {
	Candidates []Candidate // checked
	Reference  int         // index in Candidates
	Cells      []Cell
	Rounds     int // of real cells
	Seeds      int // of simulated cells
	Objects    int
	Quick      bool
	Store      *Store
	Note       func(string) // gets lines about progress

	// measure stands for the function of this name in tests.
	measure func(context.Context, *Candidate, *Cell, []string, time.Duration) (map[string]float64, error)
}

// task is one run of a cell by a candidate.
type task struct {
	cell      *Cell
	candidate *Candidate
	round     int
	args      []string
}

// tasks lists all tasks in order: real cells round by round, with candidates
// side by side. The first one changes with the cell and with the round. Then
// the simulated cells, seed by seed.
func (c *Comparison) tasks() []task {
	var all []task
	n := len(c.Candidates)
	add := func(simulated bool, rounds int) {
		for round := 1; round <= rounds; round++ {
			for i := range c.Cells {
				cell := &c.Cells[i]
				if cell.Simulated != simulated {
					continue
				}
				args := cell.sized(c.Objects, c.Quick)
				for j := range n {
					if round%2 == 0 {
						j = n - j // Backwards, so that none always follows the same one.
					}
					cand := &c.Candidates[(i+round+j)%n]
					all = append(all, task{cell, cand, round, cell.command(cand.Scheme, args, round)})
				}
			}
		}
	}
	add(false, c.Rounds)
	add(true, c.Seeds)
	return all
}

// left are the tasks without a record.
func (c *Comparison) left() ([]task, error) {
	var left []task
	for _, t := range c.tasks() {
		r, err := c.Store.find(t.cell, t.candidate, t.round, t.args)
		if err != nil {
			return nil, err
		}
		if r == nil {
			left = append(left, t)
		}
	}
	return left, nil
}

// Run executes the missing tasks and stores each record as soon as it is
// measured. It stops at the first error.
func (c *Comparison) Run(ctx context.Context) error {
	left, err := c.left()
	if err != nil {
		return err
	}
	run := c.measure
	if run == nil {
		run = measure
	}
	total := len(c.tasks())
	c.Note(fmt.Sprintf("%d of %d measurements are there", total-len(left), total))
	for i, t := range left {
		began := time.Now()
		values, err := run(ctx, t.candidate, t.cell, t.args, t.cell.limit())
		if err != nil {
			return fmt.Errorf("candidate %s, cell %q, round %d: %w", t.candidate.Name, t.cell.Name, t.round, err)
		}
		units := map[string]string{}
		for _, m := range t.cell.Metrics {
			units[m.Label] = m.Unit
		}
		if err := c.Store.Add(Record{
			Cell: t.cell.Name, Candidate: *t.candidate, Round: t.round, Args: strings.Join(t.args, " "),
			Simulated: t.cell.Simulated, Values: values, Units: units,
			TookS: time.Since(began).Seconds(), Measured: began.UTC().Round(time.Second),
		}); err != nil {
			return err
		}
		c.Note(fmt.Sprintf("%d of %d: %s, round %d, %s: %.4g %s; %v left", total-len(left)+i+1, total, t.cell.Name,
			t.round, t.candidate.Name, values[t.cell.Metrics[0].Label], t.cell.Metrics[0].Unit,
			c.timeLeft(left[i+1:]).Round(time.Second)))
	}
	return nil
}

// timeLeft assumes for each task the mean time of its cell so far; else that
// of all cells of its kind; else that of all.
func (c *Comparison) timeLeft(left []task) time.Duration {
	type mean struct {
		sum float64
		n   int
	}
	means := map[string]mean{}
	for _, r := range c.Store.Records {
		for _, of := range []string{r.Cell, fmt.Sprint(r.Simulated), ""} {
			m := means[of]
			means[of] = mean{m.sum + r.TookS, m.n + 1}
		}
	}
	seconds := 0.0
	for _, t := range left {
		for _, of := range []string{t.cell.Name, fmt.Sprint(t.cell.Simulated), ""} {
			if m := means[of]; m.n > 0 {
				seconds += m.sum / float64(m.n)
				break
			}
		}
	}
	return time.Duration(seconds * float64(time.Second))
}

// Table compares the existing records, finished or not. command repeats the
// comparison.
func (c *Comparison) Table(command string) (*Table, error) {
	var have []Record
	missing := 0
	for _, t := range c.tasks() {
		r, err := c.Store.find(t.cell, t.candidate, t.round, t.args)
		if err != nil {
			return nil, err
		}
		if r == nil {
			missing++
			continue
		}
		have = append(have, *r)
	}
	table := NewTable(command, c.Candidates, c.Reference, c.Cells, have)
	table.Missing = missing
	return table, nil
}
