// Package door has what HTTP and gRPC know of a member's group, so that clients may use any
// member: what comes in at a secondary is forwarded to the primary.
//
//	client --> HTTP of a secondary --> stream to the primary --> its service, without a door
//	                                   (wire.StreamHTTP, StreamGRPC)
//
// The stream ends at a listener of the primary's own, which forwards nothing: no request goes
// in circles. If that member is no primary any more, it refuses.
package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
)

const (
	// DefaultPatience is some failovers.
	DefaultPatience = 3 * time.Second
	// pause is between looks at the group.
	pause = 20 * time.Millisecond
	// Linger is for answers of a member that is not the primary any more. One that runs gives
	// them at once, or refuses; one that stands still never does.
	Linger = 500 * time.Millisecond
	// learnTime is how much earlier a member may learn of a change of the group than another.
	learnTime = 200 * time.Millisecond
	// watchPause is between looks at the group while an answer is awaited.
	watchPause = 100 * time.Millisecond
)

// ReadFrom is the header, and the metadata, by which a request that only reads says where: ReadAny
// is the member that it came to, whose answer may be behind the primary's.
const (
	ReadFrom = "catfish-read-from"
	ReadAny  = "any"
)

// ErrMoved: the primary that a request was sent to is none any more, and has not answered.
var ErrMoved = errors.New("another member is the primary")

// ErrDial: no stream to the primary could be opened, so nothing was sent.
var ErrDial = errors.New("the primary cannot be reached")

// Group is a member's view of its group. Its functions are safe for concurrent use.
type Group struct {
	// Serves reports whether this member is the primary, and shows all that the primaries
	// before it have acknowledged.
	Serves func() bool
	// Primary returns the address of another member that is the primary as far as this one
	// knows; empty: none is.
	Primary func() string
	// Connect opens a stream to the service of a member.
	Connect func(ctx context.Context, addr string) (net.Conn, error)
	// Patience is how long a request waits for a primary before it is refused, 0:
	// DefaultPatience.
	Patience time.Duration
}

// Until is when a request that comes now waits no longer.
func (g *Group) Until() time.Time { return time.Now().Add(cmp.Or(g.Patience, DefaultPatience)) }

// Dial opens a stream to the service of a member.
func (g *Group) Dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := g.Connect(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDial, err)
	}
	return c, nil
}

// Find waits until this member serves (here), or another one is the primary.
// fault.ErrNotPrimary: until has passed.
func (g *Group) Find(ctx context.Context, until time.Time) (addr string, here bool, err error) {
	for {
		if g.Serves() {
			return "", true, nil
		}
		if addr := g.Primary(); addr != "" {
			return addr, false, nil
		}
		if err := Wait(ctx, until); err != nil {
			return "", false, err
		}
	}
}

// Wait pauses before another attempt. fault.ErrNotPrimary: until has passed.
func Wait(ctx context.Context, until time.Time) error {
	if time.Now().After(until) {
		return fmt.Errorf("%w, and none was found in time", fault.ErrNotPrimary)
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Await waits, for a request that another member has forwarded, until this member serves. The
// other one may have learned earlier that it is the primary. fault.ErrNotPrimary: it is not.
func (g *Group) Await(ctx context.Context) error {
	began, until := time.Now(), g.Until()
	for !g.Serves() {
		if g.Primary() != "" {
			until = began.Add(learnTime)
		}
		if err := Wait(ctx, until); err != nil {
			return err
		}
	}
	return nil
}

// While returns a context that ends Linger after the member at addr has stopped being the
// primary, with ErrMoved. Call end.
func (g *Group) While(ctx context.Context, addr string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var look func()
	moved := false
	timer := time.AfterFunc(time.Hour, func() { look() })
	look = func() {
		switch {
		case ctx.Err() != nil:
		case moved:
			cancel(ErrMoved)
		case g.Primary() != addr:
			moved = true
			timer.Reset(Linger)
		default:
			timer.Reset(watchPause)
		}
	}
	timer.Reset(watchPause)
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
