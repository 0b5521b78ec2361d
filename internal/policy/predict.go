package policy

import (
	"slices"
	"time"
)

// Predictor is how Algorithm 1 computes the server's utilisation (predUtil)
// from the heartbeats since its last judgement.
type Predictor string

// The predictors.
const (
	// Latest takes the newest heartbeat, as the paper does (section IV-B).
	Latest Predictor = "latest"
	// Mean takes the mean of all.
	Mean Predictor = "mean"
	// Linear fits a least-squares line and takes its value at the time of
	// the judgement, within 0 and 1.
	Linear Predictor = "linear"
)

var predictors = []Predictor{Latest, Mean, Linear}

// Predictors lists the names, the paper's first.
func Predictors() []string {
	names := make([]string, len(predictors))
	for i, p := range predictors {
		names[i] = string(p)
	}
	return names
}

func (p Predictor) known() bool { return slices.Contains(predictors, p) }

// mostBeats is how many heartbeats are kept until they are judged, the newest
// ones. There is seldom more than one: judging clears them, and it is done
// about as often as they come.
const mostBeats = 8

// beats are the heartbeats since the last judgement, in the order in which
// searches found them. A heartbeat replaces one in the mailbox that was not
// taken yet; the replaced one is not among them.
type beats struct {
	at  [mostBeats]time.Time
	cpu [mostBeats]float64 // 0..1
	n   int
}

// add takes a heartbeat that was found at a time.
func (b *beats) add(at time.Time, cpu float64) {
	if b.n == mostBeats {
		copy(b.at[:], b.at[1:])
		copy(b.cpu[:], b.cpu[1:])
		b.n--
	}
	b.at[b.n], b.cpu[b.n] = at, finite(cpu, 1)
	b.n++
}

func (b *beats) clear() { b.n = 0 }

// predict is predUtil at a time, 0..1. There is at least one heartbeat.
func (b *beats) predict(p Predictor, now time.Time) float64 {
	latest := b.cpu[b.n-1]
	if p == Latest || b.n == 1 {
		return latest
	}
	sum := 0.0
	for _, u := range b.cpu[:b.n] {
		sum += u
	}
	mean := sum / float64(b.n)
	if p == Mean {
		return mean
	}
	// Times before now, in seconds: so the line's value at now is that at 0.
	middle := 0.0
	for _, at := range b.at[:b.n] {
		middle += at.Sub(now).Seconds() / float64(b.n)
	}
	square, product := 0.0, 0.0
	for i, at := range b.at[:b.n] {
		d := at.Sub(now).Seconds() - middle
		square += d * d
		product += d * (b.cpu[i] - mean)
	}
	if square == 0 { // All at one time: no line.
		return latest
	}
	return finite(mean-middle*product/square, 1)
}
