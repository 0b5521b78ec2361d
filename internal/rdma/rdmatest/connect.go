package rdmatest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

var connectCases = []testCase{
	{"PrivateData", casePrivateData},
	{"PrivateDataLimit", casePrivateDataLimit},
	{"Reject", caseReject},
	{"DialNobody", caseDialNobody},
	{"DialBadAddress", caseDialBadAddress},
	{"DialTimeout", caseDialTimeout},
	{"DialerGaveUp", caseDialerGaveUp},
	{"ListenerClosed", caseListenerClosed},
	{"AcceptCancelled", caseAcceptCancelled},
	{"AddressInUse", caseAddressInUse},
	{"QueuesRequired", caseQueuesRequired},
}

// configs returns queue pair configurations for both hosts.
func configs(c, s *host) (ccfg, scfg rdma.QPConfig) {
	return rdma.QPConfig{SendCQ: c.send, RecvCQ: c.recv},
		rdma.QPConfig{SendCQ: s.send, RecvCQ: s.recv}
}

// casePrivateData sends none, one byte and the limit, both ways.
func casePrivateData(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, scfg := configs(c, s)
	most := make([]byte, rdma.MaxPrivateData)
	fill(most, 3)
	for _, tc := range []struct{ out, back []byte }{
		{nil, nil}, {[]byte{0}, nil}, {nil, []byte{9, 0}}, {most, most[:55]}, {most[1:], most},
	} {
		out, back := bytes.Clone(tc.out), bytes.Clone(tc.back)
		cq, sq, err := e.handshake(l, c.dev, ccfg, scfg, out, back)
		e.must(err)
		clear(out) // the provider must have copied both
		clear(back)
		if !bytes.Equal(sq.PrivateData(), tc.out) {
			e.Errorf("listener got %x, dialer sent %x", sq.PrivateData(), tc.out)
		}
		if !bytes.Equal(cq.PrivateData(), tc.back) {
			e.Errorf("dialer got %x, listener sent %x", cq.PrivateData(), tc.back)
		}
	}
}

func casePrivateDataLimit(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, scfg := configs(c, s)
	long := make([]byte, rdma.MaxPrivateData+1)
	ctx, cancel := e.patience()
	defer cancel()
	if _, err := c.dev.Dial(ctx, l.Addr(), ccfg, long); !errors.Is(err, rdma.ErrTooLarge) {
		e.Errorf("Dial with %d bytes: %v, want ErrTooLarge", len(long), err)
	}
	var w workers
	w.run(func() error {
		_, err := c.dev.Dial(ctx, l.Addr(), ccfg, nil)
		if err == nil {
			return errors.New("dialer was connected by a failed Accept")
		}
		return nil
	})
	req, err := l.Accept(ctx)
	e.must(err)
	if _, err := req.Accept(scfg, long); !errors.Is(err, rdma.ErrTooLarge) {
		e.Errorf("Accept with %d bytes: %v, want ErrTooLarge", len(long), err)
	}
	_ = req.Reject("private data too long") // whether or not Accept did
	e.join(&w)
	_, _, err = e.handshake(l, c.dev, ccfg, scfg, nil, nil)
	e.must(err) // both sides continue
}

func caseReject(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, scfg := configs(c, s)
	ctx, cancel := e.patience()
	defer cancel()
	for _, reason := range []string{"version 7 is not served", "", "größer"} {
		var w workers
		w.run(func() error {
			req, err := l.Accept(ctx)
			if err != nil {
				return err
			}
			if string(req.PrivateData()) != "hi" || req.Peer() == "" {
				return errors.New("the request lacks private data or peer")
			}
			return req.Reject(reason)
		})
		_, err := c.dev.Dial(ctx, l.Addr(), ccfg, []byte("hi"))
		e.join(&w)
		var re *rdma.RejectError
		if !errors.As(err, &re) || !errors.Is(err, rdma.ErrRejected) {
			e.Fatalf("Dial: %v, want a *RejectError", err)
		}
		if re.Reason != reason || re.Peer == "" {
			e.Errorf("refused by %q with %q, want %q", re.Peer, re.Reason, reason)
		}
	}
	_, _, err := e.handshake(l, c.dev, ccfg, scfg, nil, nil)
	e.must(err)
	e.silent(c.send, c.recv, s.send, s.recv)
}

// notConnected checks the error of a Dial that ended without a connection.
func (e *env) notConnected(what string, err error) {
	e.Helper()
	if !errors.Is(err, rdma.ErrDial) {
		e.Errorf("%s: %v, want ErrDial", what, err)
	}
}

func caseDialNobody(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	addr := l.Addr()
	e.must(l.Close())
	ccfg, _ := configs(c, s)
	ctx, cancel := e.patience()
	defer cancel()
	_, err := c.dev.Dial(ctx, addr, ccfg, nil)
	e.notConnected("Dial to a closed listener's address", err)
	if err != nil && !strings.Contains(err.Error(), addr) {
		e.Errorf("the error does not name %s: %v", addr, err)
	}
	// The address is free again.
	l, err = s.dev.Listen(addr)
	e.must(err)
	e.connect(l, c, s)
}

func caseDialBadAddress(e *env) {
	c := e.host(64)
	ctx, cancel := e.patience()
	defer cancel()
	for _, addr := range []string{"", "\x00", strings.Repeat("x", 5000)} {
		_, err := c.dev.Dial(ctx, addr, rdma.QPConfig{SendCQ: c.send, RecvCQ: c.recv}, nil)
		e.notConnected("Dial to a bad address", err)
		if l, err := c.dev.Listen(addr); err == nil && addr != "" {
			e.Errorf("listens at %q", l.Addr())
		}
	}
}

// caseDialTimeout: no side accepts, so Dial ends with its context.
func caseDialTimeout(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, _ := configs(c, s)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := c.dev.Dial(ctx, l.Addr(), ccfg, nil)
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, rdma.ErrDial) {
		e.Errorf("Dial past its deadline: %v, want context.DeadlineExceeded or ErrDial", err)
	}
	if took := time.Since(start); took > e.cfg.Patience/2 {
		e.Errorf("Dial ended %v after it began, its deadline was 50ms", took)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = c.dev.Dial(ctx, l.Addr(), ccfg, nil)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, rdma.ErrDial) {
		e.Errorf("cancelled Dial: %v, want context.Canceled or ErrDial", err)
	}
	if _, err = c.dev.Dial(ctx, l.Addr(), ccfg, nil); err == nil {
		e.Error("Dial with a cancelled context succeeded")
	}
}

// caseDialerGaveUp: requests of dialers that gave up may still be accepted;
// they end in an error or a queue pair that fails, and do not block the next
// dialer.
func caseDialerGaveUp(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, _ := configs(c, s)
	gone := e.queue(s.dev)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		if _, err := c.dev.Dial(ctx, l.Addr(), ccfg, []byte("gone")); err == nil {
			e.Error("connected without Accept")
		}
		cancel()
	}
	ctx, cancel := e.patience()
	defer cancel()
	var w workers
	var cq rdma.QueuePair
	w.run(func() (err error) {
		cq, err = c.dev.Dial(ctx, l.Addr(), ccfg, []byte("here"))
		return err
	})
	for {
		req, err := l.Accept(ctx)
		e.must(err)
		if string(req.PrivateData()) == "here" {
			_, err = req.Accept(rdma.QPConfig{SendCQ: s.send, RecvCQ: s.recv}, nil)
			e.must(err)
			break
		}
		q, err := req.Accept(rdma.QPConfig{SendCQ: gone, RecvCQ: gone}, nil)
		if err == nil {
			e.failed(q, gone)
			e.must(q.Close())
		}
	}
	e.join(&w)
	e.post(cq, event(1, 5))
	e.takeOK(s.recv, 1)
}

// caseListenerClosed: Accept and the dialers that wait for it end.
func caseListenerClosed(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ccfg, _ := configs(c, s)
	ctx, cancel := e.patience()
	defer cancel()
	var w workers
	w.run(func() error {
		if _, err := l.Accept(ctx); err != nil {
			return err
		}
		// The dialer waits; close while Accept does too, or before.
		time.AfterFunc(5*time.Millisecond, func() { _ = l.Close() })
		defer cancel()
		_, err := l.Accept(ctx)
		if !errors.Is(err, rdma.ErrClosed) {
			return errors.Join(errors.New("Accept did not end with ErrClosed"), err)
		}
		return nil
	})
	w.run(func() error {
		if _, err := c.dev.Dial(ctx, l.Addr(), ccfg, nil); err == nil {
			return errors.New("connected although nobody answered the request")
		}
		return nil
	})
	e.join(&w)
	e.must(l.Close())
}

func caseAcceptCancelled(e *env) {
	l := e.listen(e.open())
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := l.Accept(ctx); !errors.Is(err, context.Canceled) {
		e.Errorf("cancelled Accept: %v, want context.Canceled", err)
	}
	e.must(l.Close())
	if _, err := l.Accept(context.Background()); !errors.Is(err, rdma.ErrClosed) {
		e.Errorf("Accept on a closed listener: %v, want ErrClosed", err)
	}
}

func caseAddressInUse(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	if _, err := c.dev.Listen(l.Addr()); err == nil {
		e.Errorf("two listeners at %s", l.Addr())
	} else if !strings.Contains(err.Error(), l.Addr()) {
		e.Errorf("the error does not name %s: %v", l.Addr(), err)
	}
	e.connect(l, c, s) // the first one is unharmed
}

func caseQueuesRequired(e *env) {
	c, s := e.host(64), e.host(64)
	l := e.listen(s.dev)
	ctx, cancel := e.patience()
	defer cancel()
	for _, cfg := range []rdma.QPConfig{{}, {SendCQ: c.send}, {RecvCQ: c.recv},
		{SendCQ: c.send, RecvCQ: c.recv, SendDepth: -1},
		{SendCQ: c.send, RecvCQ: c.recv, RecvDepth: -1}} {
		if _, err := c.dev.Dial(ctx, l.Addr(), cfg, nil); !errors.Is(err, rdma.ErrBadRequest) {
			e.Errorf("Dial with %+v: %v, want ErrBadRequest", cfg, err)
		}
	}
	e.connect(l, c, s)
}
