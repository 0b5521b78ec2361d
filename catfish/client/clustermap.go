package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// The map at the client
//
// A request is made by one map. A request of many ids counts only if all groups have answered
// by that map: else a slot that moves between two answers is missed, or found twice. So
//
//	v := the present map
//	send its epoch over each connection whose last one was another (epochs.go)
//	ask all groups            a server with another epoch refuses: ErrMoved
//	is v's epoch the present one?
//	  yes  the answers count: a later epoch was sent over no connection meanwhile
//	  no   ask for the map, and make all of it again
//
// For one id it is enough that its group answers: another refuses. What was read one-sidedly
// counts under a lease of the same epoch (lease.go).

// errOldMap: the map has changed during a request.
var errOldMap = fmt.Errorf("%w: the map has changed during the request", model.ErrMoved)

// moved reports whether a request was refused since another group has what it is about, and
// nothing of it was done.
func moved(err error) bool {
	return errors.Is(err, model.ErrMoved) && !errors.Is(err, model.ErrUnknownOutcome)
}

// byMap makes a request, and makes it again by the next map if a group refuses it by this one.
func (k *cluster) byMap(ctx context.Context, do func(v *view) error) error {
	var since time.Time
	var pauses pauses
	for {
		v := k.view.Load()
		err := do(v)
		if !moved(err) {
			return err
		}
		switch now := time.Now(); {
		case since.IsZero():
			since = now
		case now.Sub(since) > k.c.opts.DialTimeout:
			return fmt.Errorf("%w; the groups have not agreed for %v", err, k.c.opts.DialTimeout)
		}
		if k.stands(v) {
			k.ask(ctx, v)
		}
		// A server may not have read the latest map yet.
		if k.stands(v) && !pauses.atMost(longestSearch).wait(ctx) {
			return fmt.Errorf("%w; %w", err, ctx.Err())
		}
	}
}

// stands reports whether a view's epoch is the present one.
func (k *cluster) stands(v *view) bool { return k.view.Load().epoch == v.epoch }

// ofID makes a request about one id, of its group.
func (k *cluster) ofID(ctx context.Context, id []byte, do func(c *connection) error) error {
	return k.byMap(ctx, func(v *view) error {
		g := v.of(id)
		c, err := k.conn(ctx, v, g)
		if err != nil {
			return err
		}
		if err := do(c); err != nil {
			return groupError(v.names[g], err)
		}
		return nil
	})
}

// readID is ofID of a read, which counts if the map has not changed.
func (k *cluster) readID(ctx context.Context, id []byte, do func(c *connection) error) error {
	return k.byMap(ctx, func(v *view) error {
		c, err := k.conn(ctx, v, v.of(id))
		if err == nil {
			err = do(c)
		}
		switch {
		case err != nil:
			return groupError(v.names[v.of(id)], err)
		case !k.stands(v):
			return errOldMap
		}
		return nil
	})
}

// groupError names the group in errors that are about servers, and not about the data.
func groupError(name string, err error) error {
	if judged(err) {
		return err
	}
	return ofGroup(name, err)
}

// having are the groups that have any ids.
func (v *view) having() (l []int) {
	for g, has := range v.has {
		if has {
			l = append(l, g)
		}
	}
	return l
}

// every are all groups.
func (v *view) every() (l []int) {
	for g := range v.names {
		l = append(l, g)
	}
	return l
}

// askAll asks groups at the same time: do is called with the number in groups. The first error
// cancels the other calls, if they only read, and is returned; of writes, one that may have
// been done is returned before others.
func (k *cluster) askAll(ctx context.Context, v *view, groups []int, reads bool, do func(ctx context.Context, n int, c *connection) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var under sync.WaitGroup
	var mu sync.Mutex
	var first error
	one := func(n, g int) {
		c, err := k.conn(ctx, v, g)
		if err == nil {
			err = do(ctx, n, c)
		}
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil || !reads {
			first = lessSafe(first, groupError(v.names[g], err))
		}
		if reads {
			cancel()
		}
	}
	if len(groups) == 1 {
		one(0, groups[0])
	} else {
		for n, g := range groups {
			under.Go(func() { one(n, g) })
		}
	}
	under.Wait()
	if first == nil && !k.stands(v) {
		return errOldMap
	}
	return first
}

// lessSafe returns the first of two errors of a write to several groups, unless only the second
// says that something may have been done.
func lessSafe(first, next error) error {
	if first == nil || next != nil && RetrySafe(first) && !RetrySafe(next) {
		return next
	}
	return first
}

// ask asks all servers that the client is connected to for the map, unless it has another
// than v.
func (k *cluster) ask(ctx context.Context, v *view) {
	select {
	case k.asking <- struct{}{}:
		defer func() { <-k.asking }()
	case <-ctx.Done():
		return
	}
	if k.view.Load() != v {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkInterval)
	defer cancel()
	var under sync.WaitGroup
	asked := false
	for _, c := range k.all() {
		if s := c.sessions.latest(); s.alive() {
			asked = true
			under.Go(func() {
				if err := s.epochs.send(ctx, s, s.caller, true); err != nil {
					k.c.log.Debug("a group does not send the map", "server", s.server, "err", err)
				}
			})
		}
	}
	under.Wait()
	if asked {
		return
	}
	k.c.servers.members = nil
	for _, addrs := range v.addrs {
		k.c.servers.members = append(k.c.servers.members, addrs...)
	}
	_, err := k.c.servers.find(ctx)
	var several *severalGroups
	if errors.As(err, &several) {
		err = k.askAt(ctx, several.found)
	}
	if err != nil {
		k.c.log.Debug("no server sends the map", "err", err)
	}
}

// askAt asks a server for the map, over a connection of its own.
func (k *cluster) askAt(ctx context.Context, found helloAnswer) error {
	s, err := k.c.reach(ctx, found)
	if err != nil {
		return err
	}
	defer s.drained()
	defer s.close()
	if !s.knows(wire.KindMap) {
		return s.cannot("send the map of its groups")
	}
	b, err := s.call(ctx, wire.KindMap, wire.MapRequest{}.Append(nil), nil)
	if err != nil {
		return fmt.Errorf("the map of groups, of the server at %s: %w", s.server, err)
	}
	return k.learn(b)
}

// learn takes the answer to a KindMap, if it is later than what is known.
func (k *cluster) learn(answer []byte) error {
	is, err := wire.GetCluster(answer)
	if err != nil {
		return err
	}
	v := &view{epoch: is.Epoch, version: is.Version, addrs: map[string][]string{}, over: make(chan struct{})}
	for _, g := range is.Groups {
		v.addrs[g.Name] = g.Members
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.view.Load()
	switch {
	case old != nil && is.Version < old.version:
		return nil
	case old != nil && is.Version == old.version:
		if !maps.EqualFunc(v.addrs, old.addrs, slices.Equal) {
			v.groupMap, v.over = old.groupMap, old.over
			k.view.Store(v)
		}
		return nil
	}
	if v.groupMap, err = decodeMap(is.Map); err != nil {
		return err
	}
	if old != nil && old.epoch == v.epoch {
		v.over = old.over
	}
	changed := old != nil && old.epoch != v.epoch
	if changed {
		close(old.over) // before the new epoch is sent
	}
	if k.view.Store(v); changed {
		k.c.log.Info("another map of groups", "version", v.version, "epoch", v.epoch)
	}
	return nil
}
