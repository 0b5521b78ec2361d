package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// member is what a server has of its group (package catfish/daemon joins it).
type member struct {
	on    bool
	store [16]byte
}

// AsMember returns the options of a server in a group, whose store has this identity. For
// packages of this module.
func AsMember(o Options, store [16]byte) Options {
	o.member = member{true, store}
	return o
}

// Lanes accepts the streams of other members. For packages of this module.
func (s *Server) Lanes() net.Listener { return s.mux.streams[wire.StreamReplica] }

// Door accepts the streams by which other members forward requests of a kind
// (wire.StreamHTTP, StreamGRPC). Call it before Serve. For packages of this module.
func (s *Server) Door(kind uint16) net.Listener {
	l := newChanListener(s.ln.Addr())
	s.mux.streams[kind] = l
	return l
}

// AnswerRings has a function accept or reject the queue pairs of other members, at a device of
// a transport. For packages of this module.
func (s *Server) AnswerRings(answer func(dev rdma.Device, transport string, req rdma.ConnRequest) error) {
	s.rings.Store(&answer)
}

// acceptRing answers a queue pair of another member.
func (f *fabric) acceptRing(_ context.Context, req rdma.ConnRequest) error {
	if answer := f.s.rings.Load(); answer != nil {
		return (*answer)(f.dev, f.name, req)
	}
	err := fmt.Errorf("%w: a lane of a group: this server is no member of one, or starts", model.ErrNotReady)
	return errors.Join(err, req.Reject(err.Error()))
}

// SetGroup says what the hello has of the group. For packages of this module.
func (s *Server) SetGroup(hello func() *wire.GroupHello) { s.group.Store(&hello) }

// groupHello is nil without a group.
func (s *Server) groupHello() *wire.GroupHello {
	if f := s.group.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// readsData is which kinds of requests read what members replicate.
var readsData = func() (t [256]bool) {
	for _, k := range []fastmsg.Kind{
		wire.KindSearch, wire.KindCount, wire.KindNearest, wire.KindSearchMany, wire.KindWithin, wire.KindGet, wire.KindAwait, wire.KindScan,
		wire.KindFind, wire.KindNear, wire.KindCountFeatures, wire.KindDescribe, wire.KindPick,
	} {
		t[k] = true
	}
	return t
}()

// standing answers a KindLease.
func (v *service) standing(from *peer, p, out []byte) ([]byte, error) {
	switch {
	case len(p) == 1 && p[0] == wire.ReadInSync:
		from.mode = store.AtInSync
	case len(p) != 0:
		return out, fmt.Errorf("%w: request for a lease with %d bytes, the first of them %d", model.ErrProtocol, len(p), p[0])
	}
	is := v.s.memberStanding() // before the epoch
	s := wire.Standing{Lease: is.Lease, Revision: is.Revision, End: is.End, Epoch: v.toldEpoch(from)}
	s.Now = boottime.Now()
	return s.Append(out), nil
}

// memberStanding is the standing of a member of a group, with the lease that its readers get;
// of a member that starts: none.
func (s *Server) memberStanding() store.Standing {
	is, _ := s.store.Standing()
	if bound := s.boundLease.Load(); bound != nil {
		is.Lease = (*bound)(is.Lease)
	}
	return is
}

// readable reports whether clients may read the server's memory: not that of a member which
// gives no lease, such as one that may hold what belongs to other groups.
func (s *Server) readable() bool {
	return !s.opts.member.on || s.memberStanding().Lease.Term != 0
}
