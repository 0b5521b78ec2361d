package policy

import "sync"

// Group is the clients of one process that search the same server by the same
// transport. They share cores and a card, so only the sum of their finished
// searches shows what one of them gains. Safe for any number of goroutines.
type Group struct {
	users int // guarded by Groups.mu

	mu       sync.Mutex
	members  map[*Engine]struct{}
	left     uint64 // finished by clients that have left
	policies map[string]Policy
}

// NewGroup returns a group outside any Groups, for instance for a simulated process.
func NewGroup() *Group {
	return &Group{members: map[*Engine]struct{}{}, policies: map[string]Policy{}}
}

// Finished is how many searches the group has finished, by either path. It
// never falls.
func (g *Group) Finished() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := g.left
	for e := range g.members {
		sum += e.searches()
	}
	return sum
}

// policy returns the policy of that name that the group shares. It has a
// lock of its own.
func (g *Group) policy(name string, make func() Policy) Policy {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.policies[name] == nil {
		g.policies[name] = make()
	}
	return g.policies[name]
}

func (g *Group) add(e *Engine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[e] = struct{}{}
}

func (g *Group) remove(e *Engine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[e]; ok {
		g.left += e.searches()
		delete(g.members, e)
	}
}

// Groups finds the group of a client by a key that its members have in
// common. The zero value is empty. Safe for any number of goroutines.
type Groups struct {
	mu sync.Mutex
	of map[any]*Group
}

// Join returns the group of a comparable key, which is forgotten when leave
// was called as often as Join.
func (gs *Groups) Join(key any) (g *Group, leave func()) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g = gs.of[key]
	if g == nil {
		if gs.of == nil {
			gs.of = map[any]*Group{}
		}
		g = NewGroup()
		gs.of[key] = g
	}
	g.users++
	return g, sync.OnceFunc(func() {
		gs.mu.Lock()
		defer gs.mu.Unlock()
		if g.users--; g.users == 0 {
			delete(gs.of, key)
		}
	})
}
