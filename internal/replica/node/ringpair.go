package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/rings"
	"github.com/catfish-index/catfish/internal/replica/windows"
)

// The side that dials a stream agrees on a queue pair beside it over the stream, after the
// greeting and before all else, for frames (ringlane.go) or for a copy of the store (copy.go):
//
//	the side that dials                            the side that is dialled
//	greeting, with ring: true ------------------>
//	                       <---------------------  welcome
//	                       <---------------------  invitation: a ticket, its boot
//	queue pair: hello with the ticket ---------->  checks both
//	                       <---------------------  welcome: memory
//	joining: the transport, or tcp, and why ---->  waits for the queue pair

type invitation struct {
	Ticket uint64 `json:"ticket,string"` // 0: the primary has no rings
	Boot   uint64 `json:"boot,string"`
}

type joining struct {
	Transport string `json:"transport"`
	Reason    string `json:"reason,omitempty"`
}

const (
	// streamTransport is the name of a lane without a queue pair.
	streamTransport = "tcp"
	// ringTime bounds each side's wait until the lane has a ring, or none.
	ringTime = 2 * time.Second
)

// ErrRing: a member's queue pair was refused, or did not come.
var ErrRing = errors.New("replica: no ring")

// invited is a peer that may open a queue pair.
type invited struct {
	peer      replica.ID
	copies    bool // it wants a copy, else frames
	accepting bool
	gone      bool // no queue pair is wanted any more
	// What was accepted, one of the two.
	sender    *rings.Sender
	source    *windows.Source
	transport string
	ready     chan struct{} // closed when one of them is set
}

// opened: a queue pair was accepted.
func (p *invited) opened() bool { return p.sender != nil || p.source != nil }

// close frees it.
func (p *invited) close() {
	if p.sender != nil {
		p.sender.Close()
	}
	if p.source != nil {
		p.source.Close()
	}
	p.sender, p.source = nil, nil
}

// invite agrees with a peer on a queue pair, which p has then, or on none.
func (l *lanes) invite(c net.Conn, r *bufio.Reader, p *invited) (is LaneStatus, err error) {
	p.ready = make(chan struct{})
	var hi invitation
	if l.n.o.Rings != nil {
		hi = invitation{rand.Uint64() | 1, l.n.boot}
		l.mu.Lock()
		l.invited[hi.Ticket] = p
		l.mu.Unlock()
	}
	defer func() {
		l.mu.Lock()
		delete(l.invited, hi.Ticket)
		p.gone = !p.opened() || err != nil || is.Transport == streamTransport
		gone := p.gone
		l.mu.Unlock()
		if gone {
			p.close() // It may have been opened, and given up.
		}
	}()
	_ = c.SetDeadline(time.Now().Add(ringTime))
	var by joining
	err = errors.Join(writeLine(c, hi), readLine(r, &by))
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	switch {
	case err != nil:
		return is, err
	case by.Transport == streamTransport:
		return LaneStatus{Transport: by.Transport, Reason: by.Reason}, nil
	}
	select {
	case <-p.ready:
		return LaneStatus{Transport: p.transport, Reason: by.Reason}, nil
	case <-time.After(ringTime):
		return is, fmt.Errorf("%w: its queue pair over %.16q does not come", ErrRing, by.Transport)
	case <-l.n.ctx.Done():
		return is, ErrClosed
	}
}

// AcceptRing answers a queue pair's request whose private data is a lane's hello
// (IsHello of package lane), at this member's device of a transport.
func (n *Node) AcceptRing(dev rdma.Device, transport string, req rdma.ConnRequest) error {
	h, err := layout.DecodeHello(req.PrivateData())
	var p *invited
	if err == nil {
		p, err = n.lanes.take(&h, n)
	}
	if err != nil {
		return errors.Join(err, req.Reject(err.Error()))
	}
	is := invited{transport: transport}
	if h.Copy {
		is.source, err = windows.Accept(dev, req)
	} else {
		is.sender, err = rings.Accept(dev, req, h)
	}
	l := n.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	p.accepting = false
	switch {
	case err != nil:
		return err
	case p.gone:
		is.close()
		return fmt.Errorf("%w: the stream of member %d has ended", ErrRing, p.peer)
	}
	p.sender, p.source, p.transport = is.sender, is.source, is.transport
	close(p.ready)
	return nil
}

// take finds the peer that a hello is of.
func (l *lanes) take(h *layout.Hello, n *Node) (*invited, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.invited[h.Ticket]
	switch {
	case h.Group != layout.GroupSum(n.o.Group):
		return nil, fmt.Errorf("%w: it is for another group than %q", ErrRing, n.o.Group)
	case h.Boot != n.boot:
		return nil, fmt.Errorf("%w: it is for boot %#x, this member has %#x", ErrRing, h.Boot, n.boot)
	case p == nil:
		return nil, fmt.Errorf("%w: unknown ticket", ErrRing)
	case uint32(p.peer) != h.Member:
		return nil, fmt.Errorf("%w: the ticket is member %d's, not %d's", ErrRing, p.peer, h.Member)
	case p.copies != h.Copy:
		return nil, fmt.Errorf("%w: the ticket of member %d is for a copy: %t", ErrRing, p.peer, p.copies)
	case p.accepting || p.opened():
		return nil, fmt.Errorf("%w: the ticket of member %d is in use", ErrRing, p.peer)
	}
	p.accepting = true
	return p, nil
}

// openPair agrees with a member on a queue pair, or on none. open opens one, to an address of
// a device, which is its own then. fellBack: one was tried, and failed.
func (o *Options) openPair(ctx context.Context, c net.Conn, r *bufio.Reader, addr string, open func(rdma.Device, string, invitation) error) (is LaneStatus, fellBack bool, err error) {
	_ = c.SetDeadline(time.Now().Add(ringTime))
	var hi invitation
	if err := readLine(r, &hi); err != nil {
		return LaneStatus{}, false, err
	}
	is, err = o.dialPair(ctx, addr, hi, open)
	if err != nil {
		if o.Rings.Must {
			return LaneStatus{}, false, fmt.Errorf("%w: %w", ErrRing, err)
		}
		is, fellBack = LaneStatus{Transport: streamTransport, Reason: err.Error()}, hi.Ticket != 0
	}
	reason := is.Reason
	if most := lineBytes / 8; len(reason) > most { // JSON makes it longer
		reason = reason[:most]
	}
	return is, fellBack, errors.Join(writeLine(c, joining{is.Transport, reason}), c.SetDeadline(time.Time{}))
}

// dialPair opens the first queue pair that can be opened.
func (o *Options) dialPair(ctx context.Context, addr string, hi invitation, open func(rdma.Device, string, invitation) error) (LaneStatus, error) {
	if hi.Ticket == 0 {
		return LaneStatus{}, errors.New("the primary has no rings, by an option")
	}
	ways, err := o.Rings.Ways(ctx, addr)
	if err != nil {
		return LaneStatus{}, err
	}
	var failed []string
	for _, w := range ways {
		dev, err := w.Open()
		if err == nil {
			if err = open(dev, w.Addr, hi); err == nil {
				reason := strings.Join(append([]string{w.Reason}, failed...), "; ")
				return LaneStatus{Transport: w.Transport, Reason: reason}, nil
			}
			_ = dev.Close()
		}
		failed = append(failed, fmt.Sprintf("%s failed: %v", w.Transport, err))
		if ctx.Err() != nil {
			break
		}
	}
	return LaneStatus{}, errors.New(strings.Join(failed, "; "))
}

// writeLine writes a line of JSON.
func writeLine(c net.Conn, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = c.Write(append(b, '\n'))
	}
	return err
}
