//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/netns"
)

const (
	keysOfRound = 6
	everyMS     = 10
	// enough calls by each path show that it works.
	enough = 5
	// continueTime is how long calls may take to be answered after the group is whole.
	continueTime = 30 * time.Second
)

// round is a running one.
type round struct {
	o      *Options
	plan   Plan
	net    *netns.Switch
	c      *cluster
	crews  []*crew
	said   *record
	victim *member
	// operator is nil if there is one group.
	operator *operator
	quiet    int64 // since then no client writes
	noting   sync.Mutex
	result   Result
}

// note says something for people. The goroutine of a change calls it, too.
func (r *round) note(format string, args ...any) {
	r.noting.Lock()
	defer r.noting.Unlock()
	r.result.Notes = append(r.result.Notes, fmt.Sprintf(format, args...))
}

func (r *round) broken(format string, args ...any) {
	r.result.Broken = append(r.result.Broken, fmt.Sprintf(format, args...))
}

// Run makes a round. Its error says that the round could not be made; the promises that were
// broken are in the Result.
func Run(ctx context.Context, o Options, p Plan) (_ Result, err error) {
	net, err := netns.NewSwitch(ctx, o.ports())
	if err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "catfish-rounds")
	if err != nil {
		return Result{}, errors.Join(err, net.Close())
	}
	r := &round{o: &o, plan: p, net: net, said: &record{events: make([][]Event, crews), calls: map[string]int{}},
		result: Result{Seed: p.Seed, Fault: p.Fault.Name, During: p.During, Transport: p.Transport}}
	if m := p.Moving; m != nil {
		r.result.Action, r.result.Step, r.result.Victim = m.Action.Name, m.Step.String(), victimDestination
		if m.Source {
			r.result.Victim = victimSource
		}
	}
	r.c = newCluster(&o, net, dir)
	defer func() {
		r.dismiss()
		if r.operator != nil {
			r.operator.close()
		}
		err = errors.Join(err, r.c.close(), net.Close(), os.RemoveAll(dir))
	}()
	defer r.trace(ctx)()
	if err := r.start(ctx); err != nil {
		return r.result, fmt.Errorf("rounds: starting: %w", err)
	}
	began := clock()
	suffer := r.suffer
	if p.Moving != nil {
		suffer = r.sufferMoving
	}
	if err := suffer(ctx); err != nil {
		if !errors.Is(err, errNotWhole) {
			return r.result, err
		}
		r.broken("%v", err)
		return r.result, nil
	}
	healed := clock()
	err = r.finish(ctx)
	if err == nil && p.Moving != nil {
		err = r.inspect(ctx)
	}
	if err != nil {
		r.broken("%v", err)
	}
	r.check(began, healed)
	return r.result, nil
}

// start starts the group and its clients, and waits until all of them work.
func (r *round) start(ctx context.Context) error {
	if err := r.c.startCoordinator(ctx); err != nil {
		return err
	}
	n := 3
	switch {
	case r.plan.Moving != nil:
		n = r.o.Groups * membersOfGroup
		if _, err := r.c.operate(ctx, append([]string{"init"}, r.plan.Moving.initial(r.o.Groups)...)...); err != nil {
			return err
		}
		var err error
		if r.operator, err = newOperator(ctx, r); err != nil {
			return err
		}
	case r.plan.During == removeMember:
		n = 4
	}
	for _, m := range r.c.members[:n] {
		if err := r.c.start(m); err != nil {
			return err
		}
	}
	g, err := r.c.whole(ctx, nil, r.note)
	if err != nil {
		return err
	}
	var servers []Server
	for _, m := range r.c.members { // n4 may come later.
		servers = append(servers, m.Server)
	}
	for i := range crews {
		c, err := startCrew(ctx, r.o.Program, r.net.Namespace(portClients+i), Job{
			Number: i + 1, Servers: servers[:n], Transport: r.plan.Transport, Keys: keysOfRound, EveryMS: everyMS, Seed: r.plan.Seed, Several: r.plan.Moving != nil,
		}, r.said)
		if err != nil {
			return err
		}
		r.crews = append(r.crews, c)
	}
	r.victim = r.choose(g[0])
	return r.goOn(ctx)
}

// choose returns the primary, or a secondary.
func (r *round) choose(g *group) *member {
	if !r.plan.Fault.secondary {
		return r.c.byName(g.Primary)
	}
	all := r.secondaries(g, nil)
	return all[r.pick(len(all), 4)]
}

// secondaries are all members of a group but the primary, and but one other.
func (r *round) secondaries(g *group, but *member) []*member {
	var all []*member
	for _, m := range r.c.of(g.Name) {
		if m.Node != g.Primary && m != but {
			all = append(all, m)
		}
	}
	return all
}

// goOn waits until calls of all clients by all paths are answered that began after now.
func (r *round) goOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, continueTime)
	defer cancel()
	for _, c := range r.crews {
		for _, path := range append([]string{pathWrite}, r.paths()...) {
			before := r.said.answered(c.number, path)
			for r.said.answered(c.number, path) < before+enough {
				select {
				case <-time.After(10 * time.Millisecond):
				case <-ctx.Done():
					return fmt.Errorf("calls of clients %d by path %q do not go on in %v: %s", c.number+1, path, continueTime, r.said.lastFailure(path))
				}
			}
		}
	}
	return nil
}

// suffer lets the fault happen, ends it, and waits until the group is whole.
func (r *round) suffer(ctx context.Context) error {
	changed := make(chan error, 1)
	change := func() { go func() { changed <- r.change(ctx) }() }
	if r.plan.Before {
		change()
	}
	r.log("the fault begins: %s", r.victim.Node)
	if err := r.plan.Fault.begin(ctx, r); err != nil {
		return fmt.Errorf("rounds: %s: %w", r.plan.Fault.Name, err)
	}
	if !r.plan.Before {
		change()
	}
	select {
	case <-time.After(r.plan.Hold):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// The change may wait for members that are down, and the group for the change.
	if err := r.recover(ctx); err != nil {
		return err
	}
	if err := <-changed; err != nil {
		return err
	}
	_, err := r.c.whole(ctx, r.damaged(), r.note)
	return err
}

// recover ends the fault, and waits until all members are in sync.
func (r *round) recover(ctx context.Context) error {
	r.log("the fault ends")
	if err := r.heal(ctx); err != nil {
		return err
	}
	_, err := r.c.whole(ctx, r.damaged(), r.note)
	return err
}

// damaged is the member whose files may be damaged, nil: none.
func (r *round) damaged() *member {
	if r.plan.Fault.damages {
		return r.victim
	}
	return nil
}

// dismiss ends the clients.
func (r *round) dismiss() {
	for _, c := range r.crews {
		c.close()
	}
	r.crews = nil
}

// paths are those by which clients must be able to read.
func (r *round) paths() []string {
	if r.plan.Moving != nil {
		return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == pathHTTP })
	}
	return paths
}

func (r *round) heal(ctx context.Context) error {
	for _, c := range r.crews {
		if err := c.signal(syscall.SIGCONT); err != nil {
			return err
		}
	}
	return r.c.heal(ctx)
}
