package whole

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// View is the map as a member has read it, and where the groups are. It does not change.
type View struct {
	Map     *placement.Map
	Self    placement.Index // this member's group
	Primary []string        // the address of each group's primary, as far as known; empty: none is
}

// several reports whether the store is that of several groups.
func (v *View) several() bool { return v != nil && len(v.Map.Groups) > 1 }

// having returns the groups that have any ids.
func (v *View) having() (l []int) {
	has := make([]bool, len(v.Map.Groups))
	for _, g := range v.Map.Slots {
		has[g] = true
	}
	for g, is := range has {
		if is {
			l = append(l, g)
		}
	}
	return l
}

// every returns all groups.
func (v *View) every() (l []int) {
	for g := range v.Map.Groups {
		l = append(l, g)
	}
	return l
}

// ofGroup is an error that names the group.
func (v *View) ofGroup(g int, err error) error {
	return fmt.Errorf("group %q: %w", v.Map.Groups[g].Name, err)
}

// Options of Groups.
type Options struct {
	// View returns the present map, nil if this group has a store of its own. It is called for
	// each request.
	View func() *View
	// Reread has the map, and where the primaries are, read soon.
	Reread func()
	// Connect opens a stream to the Groups of another member.
	Connect func(ctx context.Context, addr string) (net.Conn, error)
	// Sign shows this member's key in a request, and Check wants one; nil: none is needed.
	// lost is called when that ends, until stop.
	Sign  func(http.Header) error
	Check func(h http.Header, lost func()) (stop func() bool, err error)
	// Compile makes a program of its source (filter.Program.Sources).
	Compile func(source string) (*filter.Program, error)
	// Boxes returns what this group has of a collection of boxes, and TakesBox says why it does
	// not have a box, or takes none of that size; nil: there are none.
	Boxes    func(name string) (BoxTree, error)
	TakesBox func(name string, box rstar.Rect, isNew bool) error
	// Host has the processors and the memory that other groups' requests use, MaxBytes of it.
	Host     limits.Host
	MaxBytes int64
}

// Groups asks the groups that have a store together, and answers them. Its methods are safe
// for concurrent use.
type Groups struct {
	o         Options
	st        atomic.Pointer[store.Store] // nil: not loaded yet
	transport *http.Transport
	server    *http.Server
	bytes     *limits.Budget
	stopping  context.Context // ends when the server is to stop
	stop      context.CancelFunc

	mu     sync.Mutex
	queues map[string]*queue // of puts, by group
}

// New returns Groups that use the store that Serve gives them.
func New(o Options) *Groups {
	k := &Groups{o: o, queues: map[string]*queue{}}
	if k.o.Boxes == nil {
		k.o.Boxes = noBoxes
	}
	k.bytes = limits.NewBudget("bytes of other groups' requests", o.MaxBytes, o.MaxBytes/2)
	k.stopping, k.stop = context.WithCancel(context.Background())
	k.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			c, err := o.Connect(ctx, addr)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", door.ErrDial, err)
			}
			return c, nil
		},
		MaxIdleConnsPerHost: idleStreams, IdleConnTimeout: idleTime / 2, DisableCompression: true,
	}
	k.server = &http.Server{Handler: http.HandlerFunc(k.answer), ReadHeaderTimeout: limits.GreetingTimeout, IdleTimeout: idleTime, ErrorLog: quiet}
	return k
}

const (
	// idleStreams to a member are kept open between requests, for idleTime.
	idleStreams = 64
	idleTime    = 2 * time.Minute
	// pieces of an answer are written together.
	pieceBytes = 64 << 10
)

// ServeFeatures sets the store, once it is loaded.
func (k *Groups) ServeFeatures(st *store.Store) { k.st.Store(st) }

// Use is what other groups' requests hold.
func (k *Groups) Use() limits.Use { return k.bytes.Use() }

// view returns the map if there are several groups.
func (k *Groups) view() *View {
	if k == nil {
		return nil
	}
	if v := k.o.View(); v.several() {
		return v
	}
	return nil
}

// Several reports whether the store is that of several groups. A nil Groups has one.
func (k *Groups) Several() bool { return k.view() != nil }

// again reports whether what failed may be asked again: nothing was done, and the map, or the
// primary, is another by now.
func again(err error) bool {
	return errors.Is(err, fault.ErrMoved) || errors.Is(err, fault.ErrNotPrimary) || errors.Is(err, door.ErrDial) || errors.Is(err, errWait)
}

// byMap calls ask with the present map, and again if the map was old.
func (k *Groups) byMap(ctx context.Context, ask func(*View) error) error {
	for until := time.Now().Add(door.DefaultPatience); ; {
		v := k.view()
		if v == nil {
			return fmt.Errorf("%w: this member has no map of groups any more", fault.ErrNotReady)
		}
		err := ask(v)
		if again(err) {
			k.o.Reread()
		}
		if !again(err) || door.Wait(ctx, until) != nil {
			return err
		}
	}
}

// fromAll asks some groups at the same time. The first error ends the others. Answers count if
// the epoch has not changed meanwhile.
func (k *Groups) fromAll(ctx context.Context, v *View, groups []int, ask func(ctx context.Context, n, group int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var first error
	var under sync.WaitGroup
	for n, g := range groups {
		under.Go(func() {
			err := ask(ctx, n, g)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = v.ofGroup(g, err)
				cancel()
			}
		})
	}
	under.Wait()
	if now := k.view(); first == nil && (now == nil || now.Map.Epoch != v.Map.Epoch) {
		first = fmt.Errorf("%w: the map changed during the request", fault.ErrMoved)
	}
	return first
}

// ofAll asks all groups that have any ids for one answer, by one map.
func (k *Groups) ofAll(ctx context.Context, r request) (answers []answer, err error) {
	err = k.byMap(ctx, func(v *View) error {
		groups := v.having()
		answers = make([]answer, len(groups))
		r.Epoch = v.Map.Epoch
		return k.fromAll(ctx, v, groups, func(ctx context.Context, n, g int) (err error) {
			answers[n], err = k.ask(ctx, v, g, &r, nil)
			return err
		})
	})
	return answers, err
}

// ofID asks the group of an id.
func (k *Groups) ofID(ctx context.Context, id string, r request) (a answer, err error) {
	err = k.byMap(ctx, func(v *View) error {
		a, err = k.ask(ctx, v, int(v.Map.Of([]byte(id))), &r, nil)
		return err
	})
	return a, err
}
