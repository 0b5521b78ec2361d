package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	"github.com/catfish-index/catfish/internal/limits"
)

// readyStream sends and receives messages without waiting.
type readyStream struct{ grpc.ServerStream }

func (readyStream) SendMsg(any) error { return nil }
func (readyStream) RecvMsg(any) error { return nil }

// TestOnlyWaitingEndsCall: waiting for the client may end a call. Work between
// the waits may not, however long it takes.
func TestOnlyWaitingEndsCall(t *testing.T) {
	for name, until := range map[string]func(c *call, s *callStream) error{
		"at once": func(_ *call, s *callStream) error { return s.RecvMsg(nil) },
		"slow request": func(_ *call, s *callStream) error {
			time.Sleep(2 * slowRequest)
			return s.RecvMsg(nil)
		},
		"second message": func(_ *call, s *callStream) error {
			return errors.Join(s.RecvMsg(nil), s.SendMsg(nil), s.SendMsg(nil))
		},
		"handler that counts": func(c *call, s *callStream) error {
			c.arrive()
			return s.RecvMsg(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &gate{answers: limits.NewBudget(ofCalls, 1<<20, 1<<20), idle: DefaultIdleTimeout, messageBytes: 1 << 10}
				stream, end := context.WithCancel(t.Context())
				defer end()
				ctx, err := g.tap(stream, &tap.Info{})
				if err != nil {
					t.Fatal(err)
				}
				c := callOf(ctx)
				if ctx, err = c.begin(ctx); err != nil {
					t.Fatal(err)
				}
				if err := until(c, &callStream{ServerStream: readyStream{}, ctx: ctx, call: c}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * DefaultIdleTimeout)
				synctest.Wait()
				if err := c.ended(); err != nil || ctx.Err() != nil || g.answers.Use().Used != callBytes {
					t.Errorf("ended by %v, %+v", err, g.answers.Use())
				}
				end()
				synctest.Wait()
				if u := g.answers.Use(); u.Used != 0 || u.Sources != 0 {
					t.Errorf("after its stream: %+v", u)
				}
			})
		})
	}
}

// TestHandlerEndReleasesCall: a call's budget is free when its handler ends.
func TestHandlerEndReleasesCall(t *testing.T) {
	g := &gate{answers: limits.NewBudget(ofCalls, 1<<20, 1<<20), idle: DefaultIdleTimeout}
	ctx, err := g.tap(t.Context(), &tap.Info{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
		if u := g.answers.Use(); u.Used != callBytes {
			t.Errorf("in its handler: %+v", u)
		}
		return nil, nil
	}); err != nil || g.answers.Use().Used != 0 {
		t.Errorf("%v, %+v", err, g.answers.Use())
	}
	callOf(ctx).leave() // a second time does nothing
}
