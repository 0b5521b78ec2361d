package attack

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/child"
)

// Config says what to measure.
type Config struct {
	ServerConfig
	Spawn    child.Spawn // an attacker's process, which calls ChildMain
	Attacks  []Attack    // at the same time
	Name     string      // of all of them
	Small    bool
	SameHost bool
	Rate     float64       // of each honest client, requests per second at most
	Alone    time.Duration // before the attack
	Duration time.Duration // of the attack
	// After is how long the server may take to give back what attackers took.
	After time.Duration
}

// stopTime is how long attackers may take to end: on a busy machine they have
// hardly run so far.
const stopTime = time.Minute

// sampleEvery is the interval between samples of the server's process.
const sampleEvery = 100 * time.Millisecond

// Run measures the effect of attacks on honest clients. Its error says that the
// measurement failed; the promises that the attacks broke are in the Row.
func Run(ctx context.Context, cfg Config) (_ Row, err error) {
	qs, err := newQuestions(cfg.Objects)
	if err != nil {
		return Row{}, err
	}
	cfg.web = slices.ContainsFunc(cfg.Attacks, func(a Attack) bool { return a.web })
	srv, err := startServer(ctx, cfg.ServerConfig)
	if err != nil {
		return Row{}, err
	}
	row := Row{Attack: cfg.Name, Small: cfg.Small, SameHost: cfg.SameHost, Objects: cfg.Objects}
	defer func() {
		if stop := srv.stop(); stop != nil && row.Died == "" && err == nil {
			err = stop
		}
	}()
	clients, err := honestClients(ctx, srv.Target, qs, &cfg)
	if err != nil {
		return row, err
	}
	defer closeAll(clients)
	enemies, err := startAttackers(ctx, cfg.Spawn, cfg.Attacks, Job{Target: srv.Target, Small: cfg.Small, SameHost: cfg.SameHost,
		Shares: cfg.Small, // A busy machine may have no idle time, and tests measure no rates.
	})
	if err != nil {
		return row, err
	}
	defer enemies.kill()
	running, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, h := range clients {
		h.cut()
		wg.Go(func() { h.run(running) })
	}

	// Caches fill, pools open.
	if err := srv.watch(ctx, cfg.Alone/5, nil); err != nil {
		return row, err
	}
	row.cut(clients, nil)
	if err := srv.watch(ctx, cfg.Alone, &row.Alone); err != nil {
		return row, err
	}
	row.cut(clients, func(c *ClientRow) *Part { return &c.Alone })

	if err := enemies.begin(); err != nil {
		return row, err
	}
	begun := time.Now()
	during := srv.watch(ctx, cfg.Duration, &row.Beside)
	row.cut(clients, func(c *ClientRow) *Part { return &c.Beside })
	row.Seconds = time.Since(begun).Seconds()
	stopping, stopped := context.WithTimeout(ctx, stopTime)
	defer stopped()
	row.Attackers, err = enemies.stop(stopping)
	if died := srv.died(); died != nil {
		row.Died = died.Error()
		return row, nil
	}
	if err = errors.Join(during, err); err != nil {
		return row, err
	}
	row.After, row.GivenBack, err = srv.recovers(ctx, cfg.After, row.Alone)
	row.cut(clients, func(c *ClientRow) *Part { return &c.After })
	if err != nil {
		return row, err
	}
	st, err := srv.status(ctx)
	row.Limit, row.Budgets = st.Memory.Limit, st.Budgets
	return row, err
}

// honestClients returns all clients that watch: the readers and the writer, those
// of records and of features, new clients, and uploads if an attack is on those.
func honestClients(ctx context.Context, t Target, qs []question, cfg *Config) ([]*honest, error) {
	all, err := newHonest(ctx, t, qs, cfg.Rate)
	if err != nil {
		return nil, err
	}
	keepers, err := newKeepers(ctx, t)
	all = append(all, keepers...)
	if err != nil {
		closeAll(all)
		return nil, err
	}
	for _, h := range keepers {
		h.every = time.Duration(float64(time.Second) / cfg.Rate)
	}
	wardens, err := newWardens(ctx, t)
	if err == nil && t.HTTP != "" {
		wardens = append(wardens, newWebWarden(t))
	}
	all = append(all, wardens...)
	if err != nil {
		closeAll(all)
		return nil, err
	}
	for _, h := range wardens {
		h.every = max(1, h.slower) * time.Duration(float64(time.Second)/cfg.Rate)
	}
	all = append(all, newcomers(t, qs))
	for _, a := range cfg.Attacks {
		if a.Uploads {
			u, err := uploads(ctx, t)
			if err != nil {
				closeAll(all)
				return nil, err
			}
			return append(all, u), nil
		}
	}
	return all, nil
}

// watch samples the server for a while, and keeps the maximum of each value.
func (s *server) watch(ctx context.Context, d time.Duration, most *Sample) error {
	for end := time.Now().Add(d); time.Now().Before(end); pause(ctx, sampleEvery) {
		m, err := s.sample()
		if err = errors.Join(s.died(), err, ctx.Err()); err != nil {
			return err
		}
		if most != nil {
			most.Resident, most.Peak = max(most.Resident, m.Resident), max(most.Peak, m.Peak)
			most.Descriptors = max(most.Descriptors, m.Descriptors)
			most.Threads, most.LogBytes = max(most.Threads, m.Threads), m.LogBytes
		}
	}
	return nil
}

// Little more than before counts as given back. The server's guard leaves 64
// MiB of what clients held in the heap, and Go lets that double before it
// collects; trees grow by the written objects.
const (
	keptBytes       = 192 << 20
	keptDescriptors = 64
)

// recovers waits until the server holds little more than before, and returns
// how long that took, in seconds; negative: it did not.
func (s *server) recovers(ctx context.Context, within time.Duration, before Sample) (m Sample, seconds float64, err error) {
	for begun := time.Now(); ; pause(ctx, sampleEvery) {
		m, err = s.sample()
		if err = errors.Join(s.died(), err, ctx.Err()); err != nil {
			return m, 0, err
		}
		if m.Resident <= before.Resident+keptBytes && m.Descriptors <= before.Descriptors+keptDescriptors {
			return m, time.Since(begun).Seconds(), nil
		}
		if time.Since(begun) > within {
			return m, -1, nil
		}
	}
}
