package attack

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Attack is one way to attack a server.
type Attack struct {
	Name string
	What string // what it does, for people
	// Slow attacks make requests that take long: the honest clients' p99 may be
	// three times that of an idle server.
	Slow bool
	// Uploads makes an honest client upload collections meanwhile.
	Uploads bool
	// Keeps: its data stays on the server, as it may.
	Keeps bool
	web   bool   // the server needs HTTP, and TLS
	flood bool   // it is one of those that share floodRate
	shows string // name of the counter that shows that it did anything
	// prepare, if not nil, makes the data that it needs, before the honest clients are
	// measured alone. They are then compared with themselves beside the same data.
	prepare func(context.Context, *Enemy) error
	run     func(context.Context, *Enemy) error
}

// Attacks lists all attacks.
func Attacks() []Attack {
	return []Attack{
		longRequests, hugeAnswers, hugeRegions,
		unreadRings, unreadSockets, unreadLanes, trickle, stopped,
		grpcSearches, idleUploads,
		silentStreams, silentHandshakes, silentSockets,
		unreadFetched, fetchChanges, malformedFetched,
		malformed, malformedRings, resets, slowSenders, collections,
		malformedRecords, cursors, leases, shortLived, fullRecords,
		malformedFeatures, halfPuts, costlySearches, unreadFeatures,
		httpSlow, httpUnread, httpIdle, httpMalformed, httpCostly, httpStreams, http2Floods,
	}
}

// Find returns the attack of that name.
func Find(name string) (Attack, bool) {
	for _, a := range Attacks() {
		if a.Name == name {
			return a, true
		}
	}
	return Attack{}, false
}

// Job is the work of an attacker's process until it is stopped.
type Job struct {
	Attack   string `json:"attack"`
	Target   Target `json:"target"`
	Small    bool   `json:"small"`     // as in tests
	Shares   bool   `json:"shares"`    // takes its share of the cores, instead of the idle time
	SameHost bool   `json:"same_host"` // as the honest clients
	Second   bool   `json:"second"`    // the attack's second process
	Rate     int    `json:"rate"`      // of a flood, connections per second
}

// Enemy is a running attacker.
type Enemy struct {
	job    Job
	target Target
	pace   *pacer // of a flood

	mu     sync.Mutex
	counts map[string]int
}

func newEnemy(j Job) *Enemy {
	return &Enemy{job: j, target: j.Target, pace: newPacer(max(1, j.Rate)), counts: map[string]int{}}
}

// size returns the size of an attack, in tests the small one.
func (e *Enemy) size(full, small int) int {
	if e.job.Small {
		return small
	}
	return full
}

// count adds to the reported counts.
func (e *Enemy) count(what string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[what] += n
}

func (e *Enemy) report() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.counts)
}

// each runs work(i) for i below n again and again until ctx is done, each i in
// its own goroutine. A pause follows a failure, with which most attacks end.
func (e *Enemy) each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				round, cancel := context.WithCancel(ctx)
				err := work(round, i)
				cancel()
				if err != nil && ctx.Err() == nil {
					e.count("ended", 1)
					pause(ctx, 10*time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// pause waits, less if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
