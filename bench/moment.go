package bench

import (
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/latency"
)

// Moment is a short stretch of a run: the searches since the previous moment,
// and the clients' knowledge of the server at its end.
type Moment struct {
	At        time.Duration `json:"at_ns"` // its end, since the measure began
	Fast      uint64        `json:"fast"`  // searches by messages
	Offloaded uint64        `json:"offloaded"`
	Util      float64       `json:"server_util"` // highest heartbeat, 0 to 1
}

const (
	// momentEvery is the heartbeat's interval: clients learn nothing, and
	// so change nothing, more often.
	momentEvery = 10 * time.Millisecond
	// maxMoments bounds what a run keeps, to more than a plot can show.
	maxMoments = 128
)

// timeline keeps moments of equal length. When they exceed maxMoments it joins
// them in pairs, and from then on each moment is as long as a pair.
type timeline struct {
	moments []Moment
	join    int // how many of add's moments make one; 0 is 1
	open    int // how many the last one contains
}

func (t *timeline) add(m Moment) {
	if t.join == 0 {
		t.join = 1
	}
	if n := len(t.moments); n > 0 && t.open < t.join {
		t.moments[n-1] = t.moments[n-1].with(m)
		t.open++
		return
	}
	if len(t.moments) == maxMoments {
		for i := range maxMoments / 2 {
			t.moments[i] = t.moments[2*i].with(t.moments[2*i+1])
		}
		t.moments = t.moments[:maxMoments/2]
		t.join *= 2
	}
	t.moments = append(t.moments, m)
	t.open = 1
}

func (m Moment) with(next Moment) Moment {
	return Moment{
		At: next.At, Fast: m.Fast + next.Fast, Offloaded: m.Offloaded + next.Offloaded,
		Util: max(m.Util, next.Util),
	}
}

// Detail has the data that plots need beyond a row's figures.
type Detail struct {
	// CDF has pairs of a latency in us and the share of calls, of all
	// runs, that took no longer; both ascend.
	CDF [][2]float64 `json:"cdf"`
	// Moments are from the last run and its first client process.
	Moments []Moment `json:"moments,omitempty"`
	// PeakUtil is the highest utilisation, 0 to 1, that an adaptive client's
	// policy judged, in the last run.
	PeakUtil float64 `json:"peak_util"`
	// Calls is the number of calls of each run.
	Calls []int64 `json:"calls"`
}

// newDetail takes the latencies of all runs, at least one.
func newDetail(seen tally, runs []*outcome) *Detail {
	d := &Detail{CDF: [][2]float64{}}
	all := latency.New()
	for _, l := range seen.latency {
		all.Merge(l)
	}
	for _, q := range quantiles {
		if all.Count() > 0 {
			d.CDF = append(d.CDF, [2]float64{stats.Micros(all.Quantile(q)), q})
		}
	}
	for _, o := range runs {
		var calls int64
		for _, s := range o.samples {
			calls += s.Ops()
		}
		d.Calls = append(d.Calls, calls)
	}
	last := runs[len(runs)-1]
	for i, s := range last.samples {
		if i == 0 {
			d.Moments = s.Moments
		}
		for _, g := range s.Gauges {
			d.PeakUtil = max(d.PeakUtil, g.PeakUtil)
		}
	}
	return d
}

// quantiles of a CDF: each percent, and the tail that decides what users
// feel.
var quantiles = func() []float64 {
	q := make([]float64, 0, 104)
	for i := range 100 {
		q = append(q, float64(i)/100)
	}
	return append(q, 0.995, 0.999, 0.9999, 1)
}()
