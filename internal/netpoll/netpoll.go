//go:build unix

// Package netpoll makes Go look at its sockets.
//
// Go does so when a processor has no goroutine to run, and else each 10 ms.
// Where all processors have goroutines that work without end, goroutines that
// read from sockets wait, however often the others yield: after a yield these
// are ready again. So such a goroutine parks until its own byte arrives through
// a pipe: then its processor may have no goroutine to run, Go looks, and finds
// this byte and everything else that has come. That takes some 3 us, and 50 us
// if an idle processor has looked before, whose thread wakes up for it.
package netpoll

import (
	"cmp"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Poller belongs to one goroutine. The zero value is ready.
type Poller struct {
	// Every is the shortest time between looks where there may be an idle
	// processor, which looks anyway; 0: a millisecond.
	Every time.Duration

	r, w  *os.File
	conn  syscall.RawConn
	ready func(fd uintptr) bool // step, once, since a method value allocates
	wrote bool
	last  time.Time
	err   error
	bytes [1]byte
}

// seldom is Poller.Every by default.
const seldom = time.Millisecond

// Poll lets other goroutines run, and makes Go look at its sockets.
func (p *Poller) Poll() {
	if runtime.GOMAXPROCS(0) > 1 {
		now := time.Now()
		if now.Sub(p.last) < cmp.Or(p.Every, seldom) {
			runtime.Gosched()
			return
		}
		p.last = now
	}
	if p.open() != nil {
		runtime.Gosched()
		return
	}
	p.wrote = false
	p.err = p.conn.Read(p.ready)
}

// open makes the pipe, at first.
func (p *Poller) open() error {
	if p.r != nil || p.err != nil {
		return p.err
	}
	if p.r, p.w, p.err = os.Pipe(); p.err != nil {
		return p.err
	}
	p.ready = p.step
	p.conn, p.err = p.r.SyscallConn()
	return p.err
}

// step writes the byte when Go has begun to wait for it, not before: an earlier
// byte may be forgotten. Then it reads the byte.
func (p *Poller) step(fd uintptr) (done bool) {
	if !p.wrote {
		p.wrote = true
		_, p.err = p.w.Write(p.bytes[:])
		return p.err != nil
	}
	_, err := syscall.Read(int(fd), p.bytes[:])
	return err != syscall.EAGAIN
}

// Close frees the pipe.
func (p *Poller) Close() {
	if p.r != nil {
		p.r.Close()
		p.w.Close()
		p.r = nil
	}
	p.err = os.ErrClosed
}
