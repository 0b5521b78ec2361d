package door

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
)

func view(serves *atomic.Bool, primary *atomic.Pointer[string]) *Group {
	return &Group{Serves: serves.Load, Primary: func() string {
		if p := primary.Load(); p != nil {
			return *p
		}
		return ""
	}}
}

// A request waits for a primary, and not for ever.
func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var serves atomic.Bool
		var primary atomic.Pointer[string]
		g := view(&serves, &primary)
		began := time.Now()
		find := func() (string, bool, error) { return g.Find(t.Context(), g.Until()) }
		if _, _, err := find(); !errors.Is(err, fault.ErrNotPrimary) || time.Since(began) < DefaultPatience || time.Since(began) > 2*DefaultPatience {
			t.Errorf("without a primary: %v after %v", err, time.Since(began))
		}
		a := "a"
		time.AfterFunc(time.Second, func() { primary.Store(&a) })
		if addr, here, err := find(); addr != a || here || err != nil {
			t.Errorf("%q, here %v, %v, want a", addr, here, err)
		}
		serves.Store(true)
		if addr, here, err := find(); addr != "" || !here || err != nil {
			t.Errorf("%q, here %v, %v, want here", addr, here, err)
		}
		serves.Store(false)
		primary.Store(nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := g.Find(ctx, g.Until()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that has ended: %v", err)
		}
	})
}

// A request that a member has not answered ends when another one has been the primary for a
// time.
func TestWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var serves atomic.Bool
		var primary atomic.Pointer[string]
		a, b := "a", "b"
		primary.Store(&a)
		g := view(&serves, &primary)
		ctx, end := g.While(t.Context(), a)
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Errorf("the primary has not changed: %v", context.Cause(ctx))
		}
		primary.Store(&b)
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); !errors.Is(context.Cause(ctx), ErrMoved) || took < Linger || took > Linger+2*watchPause {
			t.Errorf("%v after %v", context.Cause(ctx), took)
		}
		end()
		ctx, end = g.While(t.Context(), b)
		end()
		if ctx.Err() == nil {
			t.Error("a request that has ended goes on")
		}
	})
}
