package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// users are the clients.
type users struct {
	g       *servers
	clients map[string]*catfish.Client // by path of the Go client
	web     http.Client
	areas   []area
	first   started

	stopping atomic.Bool
	wg       sync.WaitGroup
	next     atomic.Uint64 // number of a write

	mu      sync.Mutex
	reads   map[string][]time.Time // answers, by path
	failed  map[string]int
	wrong   []string
	written []write
}

type started struct {
	features int
	primary  string
}

// area is a part of the map, and how many features it has.
type area struct {
	at   orb.Point
	half float64
	want int
}

// write is one that was tried.
type write struct {
	id      uint64
	box     bool
	unknown bool
	end     time.Time
}

const (
	readersOfPath = 4 // by message, and one-sided
	webReaders    = 2
	noteWriters   = 2
	areasOfMap    = 64
	// rest is what each reader and writer rests between two calls: servers and clients share
	// this machine.
	rest = 2 * time.Millisecond
	// callTime bounds a call: longer than any failover.
	callTime = 20 * time.Second
)

func newUsers(ctx context.Context, g *servers) (_ *users, err error) {
	u := &users{
		g: g, clients: map[string]*catfish.Client{}, web: http.Client{Timeout: time.Second},
		reads: map[string][]time.Time{}, failed: map[string]int{},
	}
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	for path, policy := range map[string]string{Message: "fast", OneSided: "offload"} {
		u.clients[path], err = catfish.Dial(ctx, g.addrs(), catfish.Options{
			Policy: policy, Shared: new(catfish.Shared), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
	}
	c := u.clients[Message]
	if err := c.CreateFeatures(ctx, notesName, catfish.FeaturesOptions{}); err != nil {
		return nil, err
	}
	if g.slots == nil { // Boxes are not on several groups.
		if err := c.CreateBoxes(ctx, keptName, catfish.BoxesOptions{Keep: true}); err != nil {
			return nil, err
		}
	}
	s, err := g.first().Status(ctx)
	if err != nil {
		return nil, err
	}
	u.first.primary = s.Primary
	return u, u.learn(ctx)
}

// learn draws areas around features of the map, and counts the features of each.
func (u *users) learn(ctx context.Context) error {
	places := u.features(Message, mapName)
	r := rand.New(rand.NewPCG(u.g.cfg.Seed, 0))
	for f, err := range places.Search(ctx, catfish.FeatureQuery{}) {
		if err != nil {
			return err
		}
		u.first.features++
		if f.Geometry == nil {
			continue
		}
		// Each feature is as likely as any other (reservoir sampling).
		a := area{at: f.Geometry.Bound().Center(), half: 0.001 + 0.004*r.Float64()}
		if i := r.IntN(u.first.features); len(u.areas) < areasOfMap {
			u.areas = append(u.areas, a)
		} else if i < areasOfMap {
			u.areas[i] = a
		}
	}
	if len(u.areas) == 0 {
		return fmt.Errorf("cluster: %s has no features", u.g.cfg.Map)
	}
	for i := range u.areas {
		n, err := places.Count(ctx, catfish.FeatureQuery{Area: u.areas[i].box()})
		if err != nil {
			return err
		}
		u.areas[i].want = n
	}
	return nil
}

func (a *area) box() *catfish.Area {
	return catfish.Box(a.at.X()-a.half, a.at.Y()-a.half, a.at.X()+a.half, a.at.Y()+a.half)
}

func (u *users) features(path, collection string) *catfish.Features {
	f, _ := u.clients[path].Features(collection) // The names are good ones.
	return f
}

func (u *users) started() Started {
	s := Started{Coordinator: u.g.first().Coordinator, Paths: u.g.paths(), Features: u.first.features, Transport: u.clients[Message].Info().Transport}
	for _, of := range u.g.groups {
		if u.g.slots != nil {
			s.Groups = append(s.Groups, of.Name)
		}
		for _, m := range of.Members {
			s.Members = append(s.Members, m.Addr)
		}
	}
	return s
}

// begin starts all readers and writers.
func (u *users) begin(ctx context.Context) {
	start := func(n int, work func(ctx context.Context, r *rand.Rand)) {
		for i := range n {
			r := rand.New(rand.NewPCG(u.g.cfg.Seed, uint64(i)))
			u.wg.Go(func() {
				t := time.NewTicker(rest)
				defer t.Stop()
				for !u.stopping.Load() && ctx.Err() == nil {
					call, cancel := context.WithTimeout(ctx, callTime)
					work(call, r)
					cancel()
					<-t.C
				}
			})
		}
	}
	for path := range u.clients {
		start(readersOfPath, func(ctx context.Context, r *rand.Rand) { u.search(ctx, r, path) })
	}
	// The writers to one group do not wait for another.
	for _, first := range u.g.noted() {
		start(noteWriters, func(ctx context.Context, r *rand.Rand) { u.note(ctx, r, first) })
	}
	if u.g.slots == nil {
		start(webReaders, u.get)
		start(1, u.box)
	}
}

func (u *users) end() {
	u.stopping.Store(true)
	u.wg.Wait()
}

func (u *users) close() {
	u.end()
	for _, c := range u.clients {
		_ = c.Close()
	}
	u.web.CloseIdleConnections()
}

// note writes a feature of its own, to the first group or to another.
func (u *users) note(ctx context.Context, r *rand.Rand, first bool) {
	id := u.next.Add(1)
	for u.g.ofFirst(noteID(id)) != first {
		id = u.next.Add(1)
	}
	at := u.areas[r.IntN(len(u.areas))].at
	_, _, err := u.features(Message, notesName).Put(ctx, catfish.Feature{
		ID: noteID(id), Geometry: at, Properties: fmt.Appendf(nil, `{"number":%d}`, id),
	}, catfish.Condition{})
	u.wrote(write{id: id}, err)
}

func noteID(id uint64) string { return fmt.Sprintf("note %d", id) }

// box inserts a box of its own.
func (u *users) box(ctx context.Context, _ *rand.Rand) {
	id := u.next.Add(1)
	kept, err := u.clients[Message].Collection(keptName)
	if err == nil {
		err = kept.Insert(ctx, rstar.Rect{MinX: float64(id), MaxX: float64(id) + 1, MaxY: 1}, id)
	}
	u.wrote(write{id: id, box: true}, err)
}

// wrote records a write that was acknowledged, or whose outcome is unknown.
func (u *users) wrote(w write, err error) {
	w.end = time.Now()
	if err != nil && catfish.RetrySafe(err) {
		return
	}
	w.unknown = err != nil
	u.mu.Lock()
	defer u.mu.Unlock()
	u.written = append(u.written, w)
}
