package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
)

// mapAnswer is the answer of a server with a map of these groups.
func mapAnswer(t *testing.T, epoch, version uint64, names ...string) []byte {
	t.Helper()
	m := placement.Map{Epoch: epoch, Version: version}
	c := &wire.Cluster{Epoch: epoch, Version: version}
	for _, n := range names {
		m.Groups, c.Groups = append(m.Groups, placement.Group{Name: n, Weight: 1}), append(c.Groups, wire.ClusterGroup{Name: n, Members: []string{n + ":1"}})
	}
	var err error
	if c.Map, err = m.Encode(); err != nil {
		t.Fatal(err)
	}
	b, err := wire.AppendCluster(nil, c, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// lonely is a cluster of which no server answers.
func lonely(t *testing.T, timeout time.Duration) *cluster {
	k := &cluster{c: &connection{opts: Options{DialTimeout: timeout}, log: quiet()}, asking: make(chan struct{}, 1)}
	if err := k.learn(mapAnswer(t, 1, 1, "a", "b")); err != nil {
		t.Fatal(err)
	}
	return k
}

// A later map replaces an earlier one, and never the other way round.
func TestLearn(t *testing.T) {
	k := lonely(t, time.Second)
	first := k.view.Load()
	for _, c := range []struct {
		epoch, version uint64
		names          []string
		over           bool // the first map's epoch is
		want           uint64
	}{{1, 1, []string{"a", "b"}, false, 1}, {1, 3, []string{"a", "b", "c"}, false, 3}, {1, 2, nil, false, 3}, {4, 4, []string{"b"}, true, 4}, {1, 3, nil, true, 4}} {
		if c.names == nil {
			c.names = []string{"old"}
		}
		if err := k.learn(mapAnswer(t, c.epoch, c.version, c.names...)); err != nil {
			t.Fatal(err)
		}
		over := false
		select {
		case <-first.over:
			over = true
		default:
		}
		if v := k.view.Load(); v.version != c.want || over != c.over {
			t.Errorf("after version %d: %d, the first is over: %v", c.version, v.version, over)
		}
	}
	for _, bad := range []string{`{}`, `{"epoch":"9","version":"9","groups":[{"name":"a"}]}`, `{"epoch":"9","version":"9","groups":[{"name":"a"}],"map":{"groups":[{}],"slots":"AAE="}}`} {
		if err := k.learn([]byte(bad)); !errors.Is(err, model.ErrProtocol) || k.view.Load().version != 4 {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A request that is refused is made again by the next map; one with an unknown outcome is not.
func TestByMap(t *testing.T) {
	k := lonely(t, time.Minute)
	tries := 0
	err := k.byMap(t.Context(), func(v *view) error {
		if tries++; v.epoch == 1 {
			go k.learn(mapAnswer(t, 2, 2, "a"))
			return fmt.Errorf("group: %w", model.ErrMoved)
		}
		return nil
	})
	if err != nil || tries < 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
	tries = 0
	err = k.byMap(t.Context(), func(*view) error {
		tries++
		return fmt.Errorf("%w: an answer was lost, and then: %w", model.ErrUnknownOutcome, model.ErrMoved)
	})
	if !errors.Is(err, model.ErrUnknownOutcome) || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
	began := time.Now()
	err = lonely(t, 100*time.Millisecond).byMap(t.Context(), func(*view) error { return model.ErrMoved })
	if !errors.Is(err, model.ErrMoved) || time.Since(began) < 100*time.Millisecond {
		t.Errorf("groups that never agree: %v after %v", err, time.Since(began))
	}
}

// Answers count if the map is the same when the last of them has come.
func TestAnswersByTwoMapsDoNotCount(t *testing.T) {
	k := lonely(t, time.Second)
	k.groups = map[string]*groupConn{}
	for _, name := range []string{"a", "b"} {
		k.groups[name] = &groupConn{name: name}
		k.groups[name].conn.Store(&connection{part: &ofCluster{k, name}})
	}
	var once sync.Once
	answers := 0
	err := k.byMap(t.Context(), func(v *view) error {
		var mu sync.Mutex
		answers = 0
		return k.askAll(t.Context(), v, v.every(), true, func(context.Context, int, *connection) error {
			once.Do(func() {
				if err := k.learn(mapAnswer(t, 2, 2, "a", "b")); err != nil {
					t.Error(err)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			answers++
			return nil
		})
	})
	if err != nil || answers != 2 || k.view.Load().epoch != 2 {
		t.Errorf("%d answers, %v", answers, err)
	}
}

// Hellos of members of other groups do not count for a connection to one.
func TestHellosOfOtherGroups(t *testing.T) {
	v := servers{group: "g"}
	for _, c := range []struct {
		a  helloAnswer
		ok bool
	}{{member("a", "g", "primary", 3), true}, {member("b", "h", "primary", 4), false}, {helloAnswer{addr: "c"}, false}} {
		if got := v.of(c.a); (got.err == nil) != c.ok || !c.ok && !errors.Is(got.err, model.ErrNoServer) {
			t.Errorf("%s: %v", c.a.addr, got.err)
		}
	}
	a, b := member("a", "g", "primary", 3), member("b", "h", "secondary", 4)
	a.hello.Cluster = &wire.ClusterHello{Epoch: 1, Version: 2, Groups: 2}
	b.hello.Cluster = &wire.ClusterHello{Epoch: 1, Version: 3, Groups: 2}
	var several *severalGroups
	any := servers{}
	if err := any.several([]helloAnswer{a, b}); !errors.As(err, &several) || several.found.addr != "b" {
		t.Errorf("the latest map: %v", err)
	}
	if err := v.several([]helloAnswer{a}); err != nil {
		t.Error(err)
	}
	if b.hello.Cluster = nil; any.several([]helloAnswer{b}) != nil {
		t.Error("several groups without a map")
	}
}
