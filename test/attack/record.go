package attack

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// errWrong is a wrong answer, which no load excuses.
var errWrong = errors.New("wrong answer")

// Part is the result of an honest client in one part of a measurement.
type Part struct {
	Rate   float64 `json:"per_s"` // answers
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Errors int     `json:"errors"`
	Wrong  int     `json:"wrong"`
}

// record collects one part. Safe for concurrent use.
type record struct {
	mu      sync.Mutex
	begun   time.Time
	times   []float32 // microseconds
	errors  int
	wrong   int
	samples []string // of errors
}

// maxSamples is the number of errors kept.
const maxSamples = 3

func (r *record) note(d time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.times = append(r.times, float32(d.Seconds()*1e6))
		return
	}
	if errors.Is(err, errWrong) {
		r.wrong++
	} else {
		r.errors++
	}
	if len(r.samples) < maxSamples {
		r.samples = append(r.samples, err.Error())
	}
}

// cut ends a part and begins the next one.
func (r *record) cut() (Part, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	p := Part{Errors: r.errors, Wrong: r.wrong}
	if n := len(r.times); n > 0 {
		slices.Sort(r.times)
		p.Rate = float64(n) / now.Sub(r.begun).Seconds()
		p.P50, p.P99 = float64(r.times[n/2]), float64(r.times[n*99/100])
	}
	samples := r.samples
	r.begun, r.times, r.errors, r.wrong, r.samples = now, r.times[:0], 0, 0, nil
	return p, samples
}
