package attack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

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
	if err := beLastToRun(); err != nil {
		return p.Fail(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := newEnemy(j)
	done := make(chan error, 1)
	go func() { done <- a.run(ctx, e) }()
	var t told
	stop := p.Read(&t)
	cancel()
	if err := <-done; err != nil && stop == nil {
		return p.Fail(fmt.Errorf("attack: %s: %w", a.Name, err))
	}
	return p.Write(told{Counts: e.report()})
}

// beLastToRun gives all threads of this process the lowest priority: it stands
// for clients on other machines, which take none of this one's cores.
func beLastToRun() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("attack: %w", err)
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}
		if err != nil {
			return fmt.Errorf("attack: priority of thread %s: %w", t.Name(), err)
		}
	}
	return nil
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
