package windows

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTime = 20 * time.Second

// transports are those whose queue pairs every machine has.
func transports(t *testing.T, test func(t *testing.T, open func() rdma.Device, listen string)) {
	run := func(name, listen string, open func() (rdma.Device, error)) {
		t.Run("transport="+name, func(t *testing.T) {
			test(t, func() rdma.Device {
				d, err := open()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = d.Close() })
				return d
			}, listen)
		})
	}
	// A server lets clients read less at once than soft does without options.
	run("soft", "127.0.0.1:0", func() (rdma.Device, error) { return soft.Open(soft.Options{ReadWindow: part + 100}) })
	if runtime.GOOS == "linux" {
		run("shm", filepath.Join(t.TempDir(), "s"), func() (rdma.Device, error) { return shm.Open(shm.Options{}) })
	}
}

// accepts answers the next request of a listener.
func accepts(t *testing.T, dev rdma.Device, at string, answer func(rdma.ConnRequest) error) (ln rdma.Listener, done chan error) {
	t.Helper()
	ln, err := dev.Listen(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	done = make(chan error, 1)
	go func() {
		req, err := ln.Accept(t.Context())
		if err == nil {
			err = answer(req)
		}
		done <- err
	}()
	return ln, done
}

func pair(t *testing.T, open func() rdma.Device, listen string) (*Source, *Reader) {
	t.Helper()
	dev := open()
	var s *Source
	ln, done := accepts(t, dev, listen, func(req rdma.ConnRequest) error {
		h, err := lane.DecodeHello(req.PrivateData())
		if err != nil || !h.Copy || h.Ticket != 7 {
			return errors.Join(err, req.Reject("no hello"))
		}
		s, err = Accept(dev, req)
		return err
	})
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	r, err := Dial(ctx, open(), ln.Addr(), lane.Hello{Ticket: 7})
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	return s, r
}

// Bytes of any length and place arrive as they are, in either buffer.
func TestRead(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		s, r := pair(t, open, listen)
		defer s.Close()
		defer r.Close()
		for i := range Count {
			for j := range s.Window(i) {
				s.Window(i)[j] = byte(j>>8 + j + 31*i)
			}
		}
		for i, n := range []int{1, 63, part, part + 1, Bytes - 1, Bytes} {
			w, b := i%Count, i%Buffers
			if err := r.Read(t.Context(), b, uint64(w*Bytes), n); err != nil {
				t.Fatal(n, err)
			}
			if !bytes.Equal(r.Buffer(b)[:n], s.Window(w)[:n]) {
				t.Errorf("%d bytes of window %d: others arrived", n, w)
			}
		}
	})
}

// Nothing outside the windows is asked for.
func TestReadOutside(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		s, r := pair(t, open, listen)
		defer s.Close()
		defer r.Close()
		for _, c := range []struct {
			at uint64
			n  int
		}{{0, 0}, {0, -1}, {0, Bytes + 1}, {Count*Bytes - 1, 2}, {math.MaxUint64, 1}, {0, math.MinInt}} {
			if err := r.Read(t.Context(), 0, c.at, c.n); !errors.Is(err, ErrPeer) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		if err := r.Read(t.Context(), 1, Count*Bytes-1, 1); err != nil {
			t.Errorf("the last byte: %v", err)
		}
	})
}

// Each side learns that the other one has ended.
func TestPeerEnds(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		s, r := pair(t, open, listen)
		defer s.Close()
		r.Close()
		ctx, cancel := context.WithTimeout(t.Context(), testTime)
		defer cancel()
		if err := s.Wait(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("the learner has ended: %v", err)
		}
	})
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		s, r := pair(t, open, listen)
		defer r.Close()
		s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), testTime)
		defer cancel()
		if err := r.Read(ctx, 0, 0, Bytes); err == nil || ctx.Err() != nil {
			t.Errorf("the source has ended: %v", err)
		}
	})
}

// A member whose windows cannot be read is no source.
func TestDialsNoSource(t *testing.T) {
	transports(t, func(t *testing.T, open func() rdma.Device, listen string) {
		for name, c := range map[string]struct {
			access rdma.Access
			answer func(rdma.Region) []byte
			want   error
		}{
			"nothing": {rdma.RemoteRead, func(rdma.Region) []byte { return nil }, lane.ErrInvalid},
			"around zero": {rdma.RemoteRead, func(rdma.Region) []byte {
				return (&lane.Welcome{Ack: rdma.Remote{Addr: math.MaxUint64 - Bytes}}).Encode()
			}, ErrPeer},
			"an unknown key":     {rdma.RemoteRead, func(m rdma.Region) []byte { return (&lane.Welcome{Ack: rdma.Remote{Key: m.Key() + 1}}).Encode() }, rdma.ErrCompletion},
			"it may not be read": {rdma.RemoteWrite, func(m rdma.Region) []byte { return (&lane.Welcome{Ack: m.Remote()}).Encode() }, rdma.ErrCompletion},
			"no memory":          {rdma.RemoteRead, nil, rdma.ErrRejected},
		} {
			dev := open()
			cq, err := dev.CreateCQ(1)
			if err != nil {
				t.Fatal(err)
			}
			mem, err := dev.Register(Bytes, c.access)
			if err != nil {
				t.Fatal(err)
			}
			ln, done := accepts(t, dev, listen, func(req rdma.ConnRequest) error {
				if c.answer == nil {
					return req.Reject("no memory")
				}
				_, err := req.Accept(rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, c.answer(mem))
				return err
			})
			r, err := Dial(t.Context(), open(), ln.Addr(), lane.Hello{Ticket: 7})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			if err == nil {
				r.Close()
			}
			<-done
			_ = ln.Close()
		}
	})
}
