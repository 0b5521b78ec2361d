package sim

import (
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/policy"
)

// Sample is one interval of a run that is watched over time
// (Config.Sample). Searches count when they finish.
type Sample struct {
	AtS      float64 `json:"at_s"` // its end, since the measured time began
	Searches uint64  `json:"searches"`
	OpsPerS  float64 `json:"ops_per_s"`
	Offload  float64 `json:"offload_share"`
	MeanUs   float64 `json:"mean_us"`
	MostUs   float64 `json:"most_us"`
	CPU      float64 `json:"server_cpu_util"`
	// Of scheme fetch: see Result.
	Written float64 `json:"written_share,omitempty"`
	Moves   uint64  `json:"answer_moves,omitempty"`
}

// series collects samples.
type series struct {
	every   int64
	all     []Sample
	ways    [2]uint64
	took    time.Duration
	most    time.Duration
	busyNs  float64 // of the server's cores, at the interval's start
	written uint64  // at the interval's start, as moves
	moves   uint64
	started int64
}

// watch restarts the series at now.
func (s *sim) watch() {
	s.series = series{every: int64(s.cfg.Sample), started: s.now, busyNs: s.n.busyNs, written: s.n.written, moves: s.n.moves}
	if s.series.every > 0 {
		s.schedule(s.now+s.series.every, evSample, 0, 0)
	}
}

// note adds a finished search.
func (r *series) note(way policy.Path, took time.Duration) {
	r.ways[way]++
	r.took += took
	r.most = max(r.most, took)
}

// sample ends an interval.
func (s *sim) sample() {
	r := &s.series
	n, ns := r.ways[0]+r.ways[1], float64(r.every)
	r.all = append(r.all, Sample{
		AtS: float64(s.now-r.started) / 1e9, Searches: n, OpsPerS: float64(n) / ns * 1e9,
		Offload: stats.Ratio(float64(r.ways[1]), float64(n)),
		MeanUs:  stats.Ratio(stats.Micros(r.took), float64(n)), MostUs: stats.Micros(r.most),
		// Work is counted when it begins: a request that crosses the
		// interval's end may raise this slightly above 1.
		CPU:     min((s.n.busyNs-r.busyNs)/ns/float64(len(s.hosts)*s.cl.Server.Cores), 1),
		Written: stats.Ratio(float64(s.n.written-r.written), float64(n)), Moves: s.n.moves - r.moves,
	})
	r.ways, r.took, r.most, r.busyNs, r.written, r.moves = [2]uint64{}, 0, 0, s.n.busyNs, s.n.written, s.n.moves
	s.schedule(s.now+r.every, evSample, 0, 0)
}
