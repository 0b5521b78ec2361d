package node

import (
	"bufio"
	"context"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/link"
	"github.com/catfish-index/catfish/internal/replica/rings"
)

// A lane by RDMA is a stream, over which Hello, CopyFirst and refusals go, with a queue pair
// beside it for frames and acknowledgements (ringpair.go): the follower's hello has its ring,
// and the primary's welcome the acknowledgement line. All frames of a lane go one way, in
// order (ringframes.go). When stream or queue pair ends, both do, and the follower opens both
// again.

// Rings are queue pairs to other members.
type Rings struct {
	// Ways lists the transports by which the member at an address may be reached, best first.
	// An error is the reason for the stream alone, unless Must is set.
	Ways func(ctx context.Context, addr string) ([]Way, error)
	// Must: there is no lane, and no copy, without a queue pair.
	Must bool
	// Bytes is the size of the next ring, as rings.CheckBytes has it.
	Bytes func() int
	// Again is how long after a failure the primary's device is asked, 0: a minute.
	Again time.Duration
}

// Way is one transport to a member.
type Way struct {
	Transport, Reason string
	Addr              string // where the member's device listens
	Open              func() (rdma.Device, error)
}

// LaneStatus says how a follower's log comes.
type LaneStatus struct {
	Transport string // as in catfish.Options, empty: there is no lane
	Reason    string // why it is this transport
	RingBytes int    // 0: frames go over the stream
}

// inviteLane agrees with a follower on its ring, if it has one.
func (l *lanes) inviteLane(c net.Conn, r *bufio.Reader, x *lane) (err error) {
	p := &invited{peer: x.peer}
	if x.status, err = l.invite(c, r, p); err == nil && p.sender != nil {
		x.send = p.sender
		x.status.RingBytes = p.sender.RingBytes()
		x.attach(x.send.Stop)
	}
	return err
}

// openRing agrees with the primary on a ring, or on none.
func (l *lanes) openRing(c net.Conn, r *bufio.Reader, x *lane, to Member) (err error) {
	ctx, cancel := context.WithTimeout(l.n.ctx, ringTime)
	defer cancel()
	x.attach(cancel)
	var bytes int
	x.status, x.fellBack, err = l.n.o.openPair(ctx, c, r, to.Addr, func(dev rdma.Device, at string, hi invitation) error {
		h := layout.Hello{Boot: hi.Boot, Ticket: hi.Ticket, Group: layout.GroupSum(l.n.o.Group), Member: uint32(l.n.id)}
		ring := l.n.o.Rings.Bytes()
		in, err := rings.Dial(ctx, dev, at, h, ring, link.MaxBytes)
		if err == nil {
			x.receive, x.device, bytes = in, dev, ring
		}
		return err
	})
	x.status.RingBytes = bytes
	x.attach(x.stopRing)
	return err
}

// attach sets what close calls, in place of what was attached before. A lane that is closed
// already calls it now.
func (x *lane) attach(stop func()) {
	x.mu.Lock()
	x.stop = stop
	closed := x.closed
	x.mu.Unlock()
	if closed {
		stop()
	}
}

// stopRing revokes the follower's ring, or lets the primary's goroutines end.
func (x *lane) stopRing() {
	if x.receive != nil {
		x.receive.Stop()
	}
	if x.send != nil {
		x.send.Stop()
	}
}

// freeRing gives back what the lane has, after its goroutines.
func (x *lane) freeRing() {
	if x.receive != nil {
		x.receive.Close()
		_ = x.device.Close()
	}
	if x.send != nil {
		x.send.Close()
	}
}
