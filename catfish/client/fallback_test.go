package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
)

// unreachable is a device that cannot connect.
type unreachable struct {
	rdma.Device
	dial func(ctx context.Context) error
}

func (d unreachable) Dial(ctx context.Context, _ string, _ rdma.QPConfig, _ []byte) (rdma.QueuePair, error) {
	return nil, d.dial(ctx)
}

// TestAutoTriesNextTransport: where shared memory cannot be reached, does not answer or is
// refused, auto takes the next transport and says why; a pinned one fails.
func TestAutoTriesNextTransport(t *testing.T) {
	s := startServer(t, server.Options{Transports: []string{model.TransportSHM, model.TransportSoft}})
	for name, dialErr := range map[string]func(context.Context) error{
		"no socket": func(context.Context) error { return fmt.Errorf("%w: no such file", rdma.ErrDial) },
		"refused": func(context.Context) error {
			return &rdma.RejectError{Peer: "server", Reason: "over budget: limit 7"}
		},
		"memory": func(context.Context) error { return fmt.Errorf("%w: no memory", rdma.ErrRegister) },
		"silent": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := &catfishtest.LogLines{}
			opts := WithHooks(Options{Logger: log.Logger()}, func(h *wire.ClientHooks) {
				h.Wrap = func(d rdma.Device) rdma.Device {
					if d.Info().Provider == model.TransportSHM {
						return unreachable{d, dialErr}
					}
					return d
				}
			})
			c, err := Dial(t.Context(), s.Addr(), opts)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Count(t.Context(), square(0, 0)); err != nil {
				t.Error(err)
			}
			in := c.Info()
			if in.Transport != model.TransportSoft || !strings.Contains(in.Reason, "same host; shm failed: ") {
				t.Errorf("on %s, because %q", in.Transport, in.Reason)
			}
			if !strings.Contains(log.String(), "transport failed, trying the next") {
				t.Errorf("the log says %q", log)
			}
			opts.Transport, opts.DialTimeout = model.TransportSHM, time.Second
			if c, err := Dial(t.Context(), s.Addr(), opts); err == nil {
				c.Close()
				t.Error("a pinned transport was replaced")
			}
		})
	}
}

// TestHelloClosed: the error distinguishes a server that closes without an answer from
// no server.
func TestHelloClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	_, err = Dial(t.Context(), l.Addr().String(), Options{Logger: quiet()})
	if !errors.Is(err, model.ErrNoServer) || !RetrySafe(err) || !strings.Contains(err.Error(), "try again later") {
		t.Errorf("%v", err)
	}
}
