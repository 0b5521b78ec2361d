package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/internal/replica/rings"
	"github.com/catfish-index/catfish/internal/wire"
)

// A follower opens a queue pair to its primary's server as a client does: what the hello offers
// and this host has, best first.

// laneTransports are the values of Group.LaneTransport.
var laneTransports = []string{"", model.TransportAuto, model.TransportSHM, model.TransportOFI, model.TransportSoft, model.TransportTCP}

func (g *Group) validateLane() error {
	if !slices.Contains(laneTransports, g.LaneTransport) {
		return badOption("Group.LaneTransport is %q, want one of %q", g.LaneTransport, laneTransports[1:])
	}
	if g.LaneRing != 0 {
		if err := rings.CheckBytes(int(g.LaneRing)); err != nil {
			return badOption("Group.LaneRing is %d, want 0 (by the load of the machine) or a number of bytes: %v", g.LaneRing, err)
		}
	}
	if g.MemberCA != "" && (g.LaneTransport == model.TransportSoft || g.LaneTransport == model.TransportOFI) {
		return badOption("Group.LaneTransport is %q with Group.MemberCA: it has no TLS", g.LaneTransport)
	}
	return nil
}

// rings is nil if lanes are streams.
func (g *Group) rings(f model.Fabric) *node.Rings {
	want := g.LaneTransport
	switch want {
	case model.TransportTCP:
		return nil
	case "":
		want = model.TransportAuto
	}
	return &node.Rings{
		Ways: func(ctx context.Context, addr string) ([]node.Way, error) { return g.ways(ctx, addr, want, f) },
		Must: want != model.TransportAuto,
		Bytes: func() int {
			if g.LaneRing != 0 {
				return int(g.LaneRing)
			}
			return rings.Here().Bytes()
		},
	}
}

// ways are the transports by which a member's server can be reached from here: with TLS between
// members, those that stay on this machine.
func (g *Group) ways(ctx context.Context, addr, want string, f model.Fabric) ([]node.Way, error) {
	h, err := wire.AskHello(ctx, addr)
	if err != nil {
		return nil, err
	}
	choices, err := wire.ChooseTransports(want, h, f)
	if err != nil {
		return nil, fmt.Errorf("no transport for rings: %w", err)
	}
	var all []node.Way
	for _, c := range choices {
		if g.MemberCA != "" && c.Transport != model.TransportSHM {
			continue // The log would pass the network without TLS.
		}
		at := addr
		if c.Transport == model.TransportSHM {
			at = h.Socket
		}
		all = append(all, node.Way{Transport: c.Transport, Reason: c.Reason, Addr: at, Open: func() (rdma.Device, error) {
			return wire.OpenDevice(c.Transport, wire.DeviceOptions{Fabric: c.Fabric, Shm: shm.Options{
				CheckPeer: func(uid uint32) error { return wire.TrustedServer(uid, uint32(os.Geteuid()), h.UID) },
			}})
		}})
	}
	if len(all) == 0 {
		return nil, errors.New("members have TLS, and rings between hosts do not")
	}
	return all, nil
}

// lane says how the log comes to this member, nil if it does not.
func lane(n *node.Node) *wire.LaneHello {
	s := n.Lane()
	if s.Transport == "" {
		return nil
	}
	return &wire.LaneHello{Transport: s.Transport, Reason: s.Reason, RingBytes: s.RingBytes}
}

// sentCopy says what copy of the store this member sends, nil if it sends none.
func sentCopy(n *node.Node) *wire.CopyHello {
	s := n.Copying()
	if s == nil {
		return nil
	}
	return &wire.CopyHello{To: s.To, Transport: s.Transport, Reason: s.Reason, Sent: s.Sent, Bytes: s.Bytes}
}
