package node

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/rings"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// What goes by queue pairs, in the terms of the protocol:
//
//	protocol          layout
//	Frame             Entries, or a Beacon without entries; First is Prev+1
//	Frame.Start       Start
//	Ack               the line; one that is of no session goes over the stream

// readRing hands frames, or acknowledgements, to the loop. nil: the lane has no ring.
func (x *lane) readRing(n *Node) error {
	defer x.close()
	if x.send != nil {
		return x.send.Acks(func(a layout.Ack) {
			n.notify(replica.Receive{From: x.peer, Message: &replica.Ack{Term: a.Term, Session: a.Session,
				Received: a.Received, Durable: a.Durable, Applied: a.Applied, Echo: a.Echo}})
		})
	}
	return x.receive.Read(func(f layout.Frame) error {
		m, err := frameOf(&f)
		if err == nil {
			n.notify(replica.Receive{From: x.peer, Message: m})
		}
		return err
	}, x.press)
}

// press has the follower say soon how much of the ring is free.
func (x *lane) press() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pressed = true
	x.more.Signal()
}

// acknowledge writes the line in the primary's memory. nil: only how much of the ring is free.
func (x *lane) acknowledge(a *replica.Ack) error {
	if a == nil {
		return x.receive.Acknowledge(layout.Ack{})
	}
	return x.receive.Acknowledge(layout.Ack{Session: a.Session, Term: a.Term, Received: a.Received,
		Durable: a.Durable, Applied: a.Applied, Echo: a.Echo})
}

// sendFrame writes a frame into the follower's ring, and returns its bytes.
func (x *lane) sendFrame(p *replica.Frame) (int, error) {
	f := layout.Frame{Kind: layout.Beacon, Term: p.Term, Session: p.Session, First: p.Prev + 1, Committed: p.Committed, Sent: uint64(p.Sent)}
	if p.Start {
		f.Flags = layout.Start
	}
	if len(p.Entries) > 0 {
		b := x.payload[:0]
		for i := range p.Entries {
			e := p.Entries[i].Data.(*disk.Entry)
			b = e.Append(layout.AppendLength(b, e.Bytes()))
		}
		f.Kind, f.Entries, f.Payload = layout.Entries, uint32(len(p.Entries)), b
		if x.payload = b; cap(b) > 2*frameBytes { // one long entry
			x.payload = nil
		}
	}
	return layout.Size(len(f.Payload)), x.send.Send(f)
}

// frameOf is the protocol's frame. The entries keep parts of its payload.
func frameOf(f *layout.Frame) (*replica.Frame, error) {
	m := &replica.Frame{Term: f.Term, Session: f.Session, Start: f.Flags&layout.Start != 0, Prev: f.First - 1,
		Last: f.First - 1 + uint64(f.Entries), Committed: f.Committed, Sent: time.Duration(f.Sent)}
	if f.First == 0 {
		return nil, fmt.Errorf("%w: first revision 0, revisions begin with 1", rings.ErrPeer)
	}
	if f.Kind != layout.Entries {
		return m, nil
	}
	each, err := layout.Split(f.Payload, f.Entries)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rings.ErrPeer, err)
	}
	m.Entries = make([]replica.Entry, 0, f.Entries)
	all := make([]disk.Entry, f.Entries)
	for b := range each {
		i := len(m.Entries)
		e := &all[i]
		if *e, err = disk.ParseEntry(f.First+uint64(i), b); err != nil {
			return nil, fmt.Errorf("%w: entry %d of %d: %w", rings.ErrPeer, i, f.Entries, err)
		}
		m.Entries = append(m.Entries, replica.Entry{Term: e.Term(), Client: e.Client, Number: e.Number, Data: e})
	}
	return m, nil
}
