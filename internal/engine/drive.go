package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/child"
)

// profile gives the share of the duration at which each step begins, and how long a
// caller then rests between two searches. The 128 callers of 8 clients ask for 1,280,
// 3,200 and 6,400 searches a second, then for the maximum, which saturates the server,
// and for little again. Full load lasts long enough to show the back-off growing; the end
// shows the clients returning to messages.
var profile = []struct {
	at   float64
	rest time.Duration
}{
	{0, 100 * time.Millisecond},
	{0.15, 40 * time.Millisecond},
	{0.3, 20 * time.Millisecond},
	{0.45, 0},
	{0.8, 100 * time.Millisecond},
}

// Steps calls f with the time of each step of a load, and with the rest from then on.
func Steps(duration time.Duration, f func(at, rest time.Duration)) {
	for _, p := range profile {
		f(time.Duration(p.at*float64(duration)), p.rest)
	}
}

// rest is how long a caller rests between two searches at a time of a load.
func rest(now, duration time.Duration) (d time.Duration) {
	Steps(duration, func(at, rest time.Duration) {
		if now >= at {
			d = rest
		}
	})
	return d
}

// drive runs the clients of a load in processes of their own.
func (r *Room) drive(ctx context.Context, job clientJob, procs int, v View) error {
	var clients []*child.Process
	defer func() {
		for _, c := range clients {
			c.Stop()
		}
	}()
	for job.Proc = range procs {
		c, err := child.Start(r.o.Spawn, ClientRole, r.o.CPUs, job, func(string) {})
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	var says clientSays
	for _, c := range clients {
		if err := c.Next(ctx, &says); err != nil {
			return err
		}
	}
	v.Begin(says.Transport, says.Policy)
	for _, c := range clients {
		if err := c.Send(start{Go: true}); err != nil {
			return err
		}
	}
	began := time.Now()
	for range int(job.Duration / job.Every) {
		var all []Sample
		for _, c := range clients {
			var says clientSays
			if err := c.Next(ctx, &says); err != nil {
				return err
			}
			if len(says.Samples) != job.Clients {
				return fmt.Errorf("%w (engine) sent %d samples, want %d", child.ErrFailed, len(says.Samples), job.Clients)
			}
			all = append(all, says.Samples...)
		}
		v.Frame(rest(time.Since(began), job.Duration), all)
	}
	return nil
}
