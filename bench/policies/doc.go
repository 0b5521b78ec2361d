// Package policies compares policies, and builds of this program, over many
// workloads, and makes one table of ratios.
//
// A Candidate is a binary and a scheme. A Cell is a workload: arguments of
// bench run, bench step or bench sim, and the metrics that are read from the
// rows that these print as JSON. The candidate's binary does the work, so that
// older builds, or builds with a part removed, can be compared. Only flags
// that old builds know are used.
//
// Real cells run in rounds. In each, every candidate runs every cell once,
// in an order that changes from cell to cell and from round to round. Machines
// drift, so ratios are taken within a round; the table shows their geometric
// mean and its standard error. Simulated cells are deterministic: they run
// once for each seed.
//
// For reading: cells.go lists the workloads, run.go the order of measurements,
// child.go and network.go their execution, ratio.go and table.go the result,
// store.go the records from which a later run continues.
package policies
