package access

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Principal is the owner of a key. All methods are safe for concurrent use.
type Principal struct {
	entry   Entry
	rule    rule
	limiter *rate.Limiter // nil: any rate
	now     func() time.Time

	// ended is closed when the entry is removed, changed or expires. over is true
	// then, and costs only a load.
	ended context.Context
	end   context.CancelFunc
	over  atomic.Bool
}

func newPrincipal(e Entry, r rule, now func() time.Time) *Principal {
	p := &Principal{entry: e, rule: r, now: now}
	if e.Rate > 0 {
		p.limiter = rate.NewLimiter(rate.Limit(e.Rate), e.burst())
	}
	p.ended, p.end = context.WithCancel(context.Background())
	return p
}

// ID names the key; it is no secret.
func (p *Principal) ID() string { return p.entry.ID }

// Name is the owner's name for the key.
func (p *Principal) Name() string { return p.entry.Name }

// Role is what the key may do with a collection. Callers may keep it as long as the
// key has not ended: a change of its roles ends the key.
func (p *Principal) Role(collection string) Role { return roleOf(p.rule.grants, collection) }

// Check returns an error that wraps ErrPermission unless the key has that role, or a
// larger one.
func (p *Principal) Check(collection string, need Role) error {
	return p.CheckRole(p.Role(collection), collection, need)
}

// CheckRole is Check for a caller that has kept what Role returned.
func (p *Principal) CheckRole(has Role, collection string, need Role) error {
	if has >= need {
		return nil
	}
	return fmt.Errorf("%w: key %s has role %v for collection %.200q, want %v", ErrPermission, p.ID(), has, collection, need)
}

// CheckReplica returns an error that wraps ErrPermission unless the key is that of a member
// of a group. No role for collections makes it one.
func (p *Principal) CheckReplica(group string) error {
	if roleOf(p.rule.groups, group) == Replica {
		return nil
	}
	return fmt.Errorf("%w: key %s has not the role %.200q", ErrPermission, p.ID(), group+":replica")
}

// Admit accepts a request, or returns a *RateLimitedError. The error wraps
// ErrUnauthenticated if the key has ended.
func (p *Principal) Admit() error {
	if p.over.Load() {
		return p.endedError()
	}
	if p.limiter == nil {
		return nil
	}
	now := p.now()
	r := p.limiter.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return &RateLimitedError{Key: p.ID(), PerSecond: p.entry.Rate, RetryAfter: wait}
}

// Limited reports whether the key has a rate.
func (p *Principal) Limited() bool { return p.limiter != nil }

func (p *Principal) endedError() error {
	return fmt.Errorf("%w: key %s was removed, changed or has expired", ErrUnauthenticated, p.ID())
}

// Ended reports whether the key was removed or changed, or has expired.
func (p *Principal) Ended() bool { return p.over.Load() }

// OnEnd calls f, in its own goroutine, when the key ends, or now if it has ended. stop
// cancels this.
func (p *Principal) OnEnd(f func()) (stop func() bool) { return context.AfterFunc(p.ended, f) }

func (p *Principal) finish() {
	p.over.Store(true)
	p.end()
}

func (p *Principal) expired(now time.Time) bool {
	return !p.rule.expires.IsZero() && !now.Before(p.rule.expires)
}
