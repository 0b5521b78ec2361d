package paper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrSeries is wrapped for a series that no experiment can have.
var ErrSeries = errors.New("no such series")

// fetch is from another paper: RFP. No experiment has it unless it is
// requested.
var fetch = Series{Name: "fetch", Title: "fast messaging, fetched answers (RFP; not in the paper)"}

func known() []Series { return append(slices.Clone(all), fetch) }

// SeriesNames are the names that WithSeries takes.
func SeriesNames() []string {
	var names []string
	for _, s := range known() {
		names = append(names, s.Name)
	}
	return names
}

// WithSeries returns the experiments with the named series in place of their own, all of
// them on the same data and queries. Figure 9 has none. Errors wrap ErrSeries.
func WithSeries(experiments []Experiment, names []string) ([]Experiment, error) {
	var series []Series
	for i, name := range names {
		at := slices.IndexFunc(known(), func(s Series) bool { return s.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("%w: %q, want some of %s", ErrSeries, name, strings.Join(SeriesNames(), ", "))
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%w twice: %q", ErrSeries, name)
		}
		series = append(series, known()[at])
	}
	with := slices.Clone(experiments)
	for i := range with {
		if with[i].Name != microName {
			with[i].Series = series
		}
	}
	return with, nil
}
