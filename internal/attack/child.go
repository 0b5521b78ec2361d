package attack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/catfish-index/catfish/bench/child"
	"github.com/catfish-index/catfish/internal/affinity"
)

// role of an attacker's process.
const role child.Role = "attacker"

// told is what attackers and their parent tell each other.
type told struct {
	Stop   bool           `json:"stop,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
}

// ChildMain is the life of an attacker's process, over its standard input and
// output.
func ChildMain(in io.Reader, out io.Writer) error {
	p := child.NewPipe(in, out)
	var j Job
	if err := p.Read(&j); err != nil {
		return p.Fail(err)
	}
	a, ok := Find(j.Attack)
	if !ok {
		return p.Fail(fmt.Errorf("attack: no attack %q", j.Attack))
	}
	if !j.Shares {
		if err := beLastToRun(); err != nil {
			return p.Fail(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := newEnemy(j)
	done := make(chan error, 1)
	go func() { done <- attempts(ctx, a, e) }()
	var t told
	stop := p.Read(&t)
	cancel()
	if err := <-done; err != nil && stop == nil {
		return p.Fail(fmt.Errorf("attack: %s: %w", a.Name, err))
	}
	return p.Write(told{Counts: e.report()})
}

// attempts attacks until ctx is done. Where other attacks go on the server may
// refuse what an attack begins with. It returns why nothing could be done at all.
func attempts(ctx context.Context, a Attack, e *Enemy) (last error) {
	for ctx.Err() == nil {
		if err := a.run(ctx, e); err != nil && ctx.Err() == nil {
			last = err
			e.count("not begun", 1)
			pause(ctx, 100*time.Millisecond)
		}
	}
	if e.report()[a.shows] > 0 {
		return nil
	}
	return last
}

// attackers are the processes of attacks that go on at the same time.
type attackers map[string]*child.Process

// startAttackers starts each attack.
func startAttackers(spawn child.Spawn, list []Attack, j Job) (attackers, error) {
	all := attackers{}
	j.Rate = floodRate / floods(list)
	for _, a := range list {
		j.Attack = a.Name
		p, err := child.Start(spawn, role, affinity.Set{}, j, func(string) {})
		if err != nil {
			all.kill()
			return nil, err
		}
		all[a.Name] = p
	}
	return all, nil
}

// stop ends the attacks, and returns what each counted.
func (all attackers) stop(ctx context.Context) (map[string]map[string]int, error) {
	defer all.kill()
	counts := map[string]map[string]int{}
	for _, p := range all {
		if err := p.Send(told{Stop: true}); err != nil {
			return nil, err
		}
	}
	for name, p := range all {
		var t told
		if err := p.Next(ctx, &t); err != nil {
			return nil, fmt.Errorf("attack: %s: %w", name, err)
		}
		counts[name] = t.Counts
	}
	return counts, nil
}

func (all attackers) kill() {
	for _, p := range all {
		p.Stop()
	}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
