package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
)

// role of an attacker's process.
const role child.Role = "attacker"

// An attacker and its parent alternate:
//
//	attacker   prepares, Ready          attacks, until           Counts
//	parent                     Begin                     Stop
type message struct {
	Ready  bool           `json:"ready,omitempty"`
	Begin  bool           `json:"begin,omitempty"`
	Stop   bool           `json:"stop,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
}

// ChildMain is the main function of an attacker's process, over its standard
// input and output.
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := newEnemy(j)
	if a.prepare != nil {
		if err := a.prepare(ctx, e); err != nil {
			return p.Fail(fmt.Errorf("attack: %s: prepare: %w", a.Name, err))
		}
	}
	var t message
	if err := errors.Join(p.Write(message{Ready: true}), p.Read(&t)); err != nil {
		return p.Fail(err)
	}
	if !j.Shares {
		if err := beLastToRun(); err != nil {
			return p.Fail(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- attempts(ctx, a, e) }()
	stop := p.Read(&t)
	cancel()
	if !j.Shares { // With idle priority it would not end on a busy machine.
		if err := beNormal(); err != nil {
			return p.Fail(err)
		}
	}
	if err := <-done; err != nil && stop == nil {
		return p.Fail(fmt.Errorf("attack: %s: %w", a.Name, err))
	}
	return p.Write(message{Counts: e.report()})
}

// attempts attacks until ctx is done. Beside other attacks the server may
// refuse the first step. It returns why no attempt succeeded.
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

// attackers are the processes of concurrent attacks.
type attackers map[string]*child.Process

// startAttackers starts the processes, and returns when they have prepared their
// attacks. The caller kills them if it does not stop them.
func startAttackers(ctx context.Context, spawn child.Spawn, list []Attack, j Job) (_ attackers, err error) {
	all := attackers{}
	defer func() {
		if err != nil {
			all.kill()
		}
	}()
	j.Rate = floodRate / floods(list)
	for _, a := range list {
		j.Attack = a.Name
		p, err := child.Start(spawn, role, affinity.Set{}, j, func(string) {})
		if err != nil {
			return nil, err
		}
		all[a.Name] = p
	}
	for name, p := range all {
		if err := p.Next(ctx, new(message)); err != nil {
			return nil, fmt.Errorf("attack: %s: %w", name, err)
		}
	}
	return all, nil
}

// begin begins the attacks.
func (all attackers) begin() error {
	for _, p := range all {
		if err := p.Send(message{Begin: true}); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the attacks, and returns what each counted.
func (all attackers) stop(ctx context.Context) (map[string]map[string]int, error) {
	defer all.kill()
	counts := map[string]map[string]int{}
	for _, p := range all {
		if err := p.Send(message{Stop: true}); err != nil {
			return nil, err
		}
	}
	for name, p := range all {
		var t message
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
