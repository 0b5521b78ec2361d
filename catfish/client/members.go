package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/wire"
)

// Groups of servers
//
// A session is with one server: the only one, or the primary of a group. find asks all
// addresses that it knows for their hellos at once: those that the caller named, and those
// of the members that the hellos name.
//
//	the connection breaks, a write is refused, requests are not answered, or
//	checkInterval has passed
//	  -> maintain asks again, and if another server is the primary
//	  -> makes a session with that one
//
// A session whose server is no longer the primary is left: requests take the next one, and
// those in flight end on the old one, which answers them. Closing it at once would lose the
// answers of writes. If it stands still, none will come, and it is closed at once: reads and
// writes with names are made again.

const (
	// maxAddrs bounds the hellos that are asked for at once.
	maxAddrs = 16
	// helloWait is how long find waits for other hellos after the first one: members that
	// run answer at about the same time, one that is down may never. If the primary was
	// missing, it waits twice as long the next time, up to longestHelloWait: the primary may
	// be further away.
	helloWait        = 50 * time.Millisecond
	longestHelloWait = time.Second
	// checkInterval bounds how long an idle client stays with a member after the others have
	// another primary.
	checkInterval = 500 * time.Millisecond
	// stillInterval is how long a member answers no request before a client asks the
	// others: hellos cost little, and a failover takes six times as long. After stillTime the
	// member is only slow, and checkInterval holds.
	stillInterval = 100 * time.Millisecond
	stillTime     = 2 * time.Second
	// askPause is before members that are not the primary are asked again, while the hello of
	// another one is waited for: one of them may be by then.
	askPause = 50 * time.Millisecond
	// switchPause is before they are asked again when all have answered: in a planned switch
	// the next primary is ready some milliseconds later. Each pause is twice the last, below
	// askPause.
	switchPause = 3 * time.Millisecond
	// longestSearch is the longest pause while members answer and none of them is the
	// primary: one of them is soon.
	longestSearch = 4 * firstPause
	// lingerTime is for the answers to requests in flight of a session that was left. A
	// member that runs refuses writes at once; one that stands still never answers.
	lingerTime = 500 * time.Millisecond
)

// errNoPrimary: members of a group answer, and none is the primary.
var errNoPrimary = errors.New("no member is the primary")

// servers finds the server of the next session. Only start and maintain use it.
type servers struct {
	given   []string // by the caller
	group   string   // hellos of others do not count; empty: of any one
	members []string // of the group, as its primary said
	term    uint64   // of the last primary
	wait    time.Duration
}

func newServers(addr string) (servers, error) {
	given := strings.Split(addr, ",")
	if len(given) > maxAddrs {
		return servers{}, fmt.Errorf("%w: %d addresses, want 1 to %d", model.ErrOption, len(given), maxAddrs)
	}
	for i, a := range given {
		if given[i] = strings.TrimSpace(a); given[i] == "" && len(given) > 1 {
			return servers{}, fmt.Errorf("%w: address %d of %q is empty", model.ErrOption, i+1, addr)
		}
	}
	return servers{given: given, wait: helloWait}, nil
}

// helloAnswer is the hello of a server, or why none came.
type helloAnswer struct {
	addr  string
	hello wire.Hello
	err   error
}

// find returns the only server, or the group's primary.
func (v *servers) find(ctx context.Context) (helloAnswer, error) {
	all, complete, err := v.ask(ctx)
	if len(all) == 0 {
		return helloAnswer{}, err
	}
	if several := v.several(all); several != nil {
		return helloAnswer{}, several
	}
	least := v.term
	if complete {
		least = 0 // No member knows of it: the group was made again.
	}
	a, err := choose(all, v.given, least)
	switch {
	case err == nil:
		v.learn(&a)
	case errors.Is(err, errNoPrimary) && !complete:
		v.wait = min(2*v.wait, longestHelloWait)
	}
	return a, err
}

// several returns the hello with the latest map, if that is of several groups.
func (v *servers) several(all []helloAnswer) error {
	var latest *severalGroups
	for i := range all {
		h := all[i].hello.Cluster
		if h != nil && h.Groups > 1 && (latest == nil || h.Version > latest.found.hello.Cluster.Version) {
			latest = &severalGroups{all[i]}
		}
	}
	if latest == nil || v.group != "" {
		return nil
	}
	return latest
}

// of makes the hello of a member of another group an error.
func (v *servers) of(a helloAnswer) helloAnswer {
	switch g := a.hello.Group; {
	case v.group == "" || a.err != nil:
	case g == nil:
		a.err = fmt.Errorf("%w: the server at %s is in no group, and not in %q", model.ErrNoServer, a.addr, v.group)
	case g.Name != v.group:
		a.err = fmt.Errorf("%w: the server at %s is of group %q, and not of %q", model.ErrNoServer, a.addr, g.Name, v.group)
	}
	return a
}

func (v *servers) learn(a *helloAnswer) {
	v.members, v.term, v.wait = nil, 0, helloWait
	if g := a.hello.Group; g != nil {
		v.term = g.Term
		for _, m := range g.Members {
			v.members = append(v.members, m.Addr)
		}
	}
}

// ask returns the hellos that came in time. complete: those of all members. err says why
// others did not come. It returns as soon as there is a primary of a later term than the last
// one: a member that stands still need not be waited for.
func (v *servers) ask(ctx context.Context) (all []helloAnswer, complete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked, under, answers := map[string]bool{}, map[string]bool{}, make(chan helloAnswer, maxAddrs)
	ask := func(addr string) {
		if under[addr] {
			return
		}
		under[addr] = true
		go func() {
			h, err := wire.AskHello(ctx, addr)
			answers <- v.of(helloAnswer{addr, h, err})
		}()
	}
	first := func(addr string) {
		if !asked[addr] && len(asked) < maxAddrs {
			asked[addr] = true
			ask(addr)
		}
	}
	for _, addrs := range [][]string{v.given, v.members} {
		for _, addr := range addrs {
			first(addr)
		}
	}
	var late, again <-chan time.Time
	for len(under) > 0 {
		select {
		case a := <-answers:
			delete(under, a.addr)
			switch {
			case a.err == nil:
				all = slices.DeleteFunc(all, func(old helloAnswer) bool { return old.addr == a.addr })
				all = append(all, a)
			case err == nil:
				err = a.err
			default:
				err = fmt.Errorf("%w; %w", err, a.err)
			}
			if late == nil && a.err == nil {
				end, pause := time.NewTimer(v.wait), time.NewTicker(askPause)
				defer end.Stop()
				defer pause.Stop()
				late, again = end.C, pause.C
			}
			if g := a.hello.Group; g != nil && a.err == nil {
				if g.Role == wire.RolePrimary && v.term != 0 && g.Term > v.term {
					return all, false, err
				}
				for _, m := range g.Members {
					first(m.Addr)
				}
			}
		case <-again:
			for i := range all {
				ask(all[i].addr)
			}
		case <-late:
			return all, false, err
		}
	}
	return all, err == nil, err
}

// choose returns the primary of the highest term that any member knows, and not below
// least; or the only server, which is in no group.
func choose(all []helloAnswer, given []string, least uint64) (helloAnswer, error) {
	var group string
	for i := range all {
		g := all[i].hello.Group
		switch {
		case g == nil:
			continue
		case group != "" && g.Name != group:
			return helloAnswer{}, fmt.Errorf("%w: the addresses %s are of several groups, %q and %q",
				model.ErrOption, strings.Join(given, ","), group, g.Name)
		}
		group, least = g.Name, max(least, g.Term)
	}
	for i := range all {
		switch g := all[i].hello.Group; {
		case g != nil && g.Role == wire.RolePrimary && g.Term == least:
			return all[i], nil
		case group == "" && len(given) == 1 && all[i].addr == given[0]:
			return all[i], nil
		}
	}
	if group == "" {
		return helloAnswer{}, fmt.Errorf("%w: the server at %s is in no group, and %d addresses are those of a group's members",
			model.ErrOption, all[0].addr, len(given))
	}
	return helloAnswer{}, fmt.Errorf("%w: %w: group %q, term %d", model.ErrNoServer, errNoPrimary, group, least)
}

// sameGroup reports whether another server has what this one had: it is of the same group,
// in a term that is not lower.
func sameGroup(old, s *session) bool {
	a, b := old.hello.Group, s.hello.Group
	return a != nil && b != nil && a.Name == b.Name && b.Term >= a.Term
}

// look makes maintain ask now which member is the primary.
func (c *connection) look() {
	select {
	case c.looks <- struct{}{}:
	default: // It will anyway.
	}
}

// over waits until the session is to be replaced. left: its connection still works. still:
// but its server does not answer.
func (c *connection) over(s *session) (left, still bool) {
	var tick <-chan time.Time
	every := cmp.Or(c.opts.hooks.CheckInterval, checkInterval)
	if s.calls != nil {
		t := time.NewTicker(min(stillInterval, every))
		defer t.Stop()
		tick = t.C
	}
	var since time.Time // still
	checked := time.Now()
	pause, again := switchPause, time.NewTimer(time.Hour)
	defer again.Stop()
	for {
		select {
		case <-s.caller.Done():
			return false, false
		case <-c.ctx.Done():
			return false, false
		case now := <-tick:
			still = s.calls.still() && c.opts.hooks.CheckInterval == 0
			switch {
			case !still:
				since = time.Time{}
			case since.IsZero():
				since = now
			}
			if now.Sub(checked) < every && (!still || now.Sub(since) > stillTime) {
				continue
			}
		case <-c.looks:
		case <-again.C:
		}
		checked = time.Now()
		moved, err := c.moved(s)
		switch {
		case moved:
			s.leave()
			return true, still
		case !errors.Is(err, errNoPrimary):
			pause = switchPause
		case pause < askPause: // Later a waiting request looks.
			again.Reset(pause)
			pause *= 2
		}
	}
}

// moved reports whether another server is the primary. errNoPrimary: none is.
func (c *connection) moved(s *session) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx, checkInterval)
	defer cancel()
	a, err := c.servers.find(ctx)
	if err != nil {
		return false, err
	}
	c.saw(&a.hello)
	return a.hello.BootID != s.hello.BootID, nil
}

// leave makes requests take the next session.
func (s *session) leave() {
	if s.gone.CompareAndSwap(false, true) {
		close(s.left)
	}
}

// linger lets the requests in flight of a session that was left end.
func (c *connection) linger(s *session) {
	t := time.NewTimer(lingerTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.caller.Done():
	case <-c.ctx.Done():
	}
}

// closing reports whether a member of a group says that it is closed.
func (c *connection) closing(err error) bool {
	var r *wire.RemoteError
	return errors.As(err, &r) && errors.Is(err, status.OfWire(status.Closed)) && c.sessions.latest().hello.Group != nil
}
