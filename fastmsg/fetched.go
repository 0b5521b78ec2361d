package fastmsg

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// postFetch posts a Read if a call waits and no Read is in flight, and reports
// whether it did.
func (c *Caller) postFetch() bool {
	f := c.fetch
	if !f.on.Load() || f.reading || !c.waits() || f.say != 0 {
		return false
	}
	at := f.next % f.lines
	f.asked = min(f.size.Read((f.need+lineData-1)/lineData), int(f.lines-at))
	f.wrs[0] = rdma.WorkRequest{
		Op:     rdma.OpRead,
		Local:  rdma.Buffer{Region: f.region, Len: f.asked * lineBytes},
		Remote: f.from.At(at * lineBytes),
	}
	wrs := f.wrs[:1]
	if f.twice {
		f.wrs[0].Unsignaled = true
		f.wrs[1] = f.wrs[0]
		f.wrs[1].Unsignaled = false
		f.wrs[1].Local.Offset = f.lands * lineBytes
		wrs = f.wrs[:2]
	}
	f.hungry.Store(false)
	f.reading = true
	if n, err := c.qp.Post(wrs); n < len(wrs) {
		f.reading = false
		f.hungry.Store(true)
		if !errors.Is(err, rdma.ErrQueueFull) {
			c.fail(err)
		}
		return false
	}
	f.counts.Reads.Add(1)
	return true
}

// takeFetched takes the lines that a Read has brought, and returns how many answers
// are complete.
func (c *Caller) takeFetched() (answered int32, err error) {
	f := c.fetch
	if f == nil || !f.reading {
		return 0, protocolError("a Read that was not posted")
	}
	f.reading = false
	f.hungry.Store(true)
	mem := f.region.Bytes()
	found := 0
	read := uint32(0)
	for ; found < f.asked; found++ {
		line := mem[found*lineBytes:][:lineBytes]
		word := binary.LittleEndian.Uint64(line)
		if uint32(word) != uint32(f.next+1) ||
			f.twice && !bytes.Equal(line, mem[(f.lands+found)*lineBytes:][:lineBytes]) {
			break
		}
		read = uint32(word >> 32)
		end, err := c.takeLine(line[wordBytes:])
		if err != nil {
			return answered, err
		}
		if end {
			answered++
		}
	}
	f.size.Brought(f.asked, found, f.need > 0 || c.waits())
	if found == 0 {
		f.counts.Vain.Add(1)
		f.tries.Vain()
		return 0, nil
	}
	f.tries.Found()
	if at := f.whole(); at-f.returned >= f.lines/4 {
		f.returned = at
		f.say = sayTook | uint32(at)&positionMask
	}
	return answered, c.roomSeen(read)
}

// roomSeen takes a line's report of how many units of requests the server has read.
func (c *Caller) roomSeen(units uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.returnedTo(units, 32); err != nil {
		return err
	}
	if len(c.queue) > 0 || c.out.unposted() > 0 { // a request may have waited for a flight
		c.admitLocked()
		c.flushLocked()
	}
	return nil
}

// takeLine takes the next line's 56 bytes, and reports whether they complete an answer.
func (c *Caller) takeLine(b []byte) (end bool, err error) {
	f := c.fetch
	if f.need == 0 {
		h := decodeHeader(binary.LittleEndian.Uint64(b))
		if h.size%unitBytes != 0 || h.size < headerBytes || int(h.size) > maxMessage(int(c.in.size)) ||
			h.fill >= unitBytes || uint32(h.fill) > h.size-headerBytes || h.rsvd != 0 ||
			h.kind == kindPad || h.flags != FlagContinue && h.flags != FlagEnd && h.flags != FlagMailbox {
			return false, protocolError("message in line %d of answers: size %d, kind %d, flags %#x, fill %d",
				f.next, h.size, h.kind, h.flags, h.fill)
		}
		f.msg = Message{Kind: h.kind, Flags: h.flags, ID: binary.LittleEndian.Uint64(b[8:]), Payload: f.msg.Payload[:0]}
		f.need, f.start = int(h.size)-headerBytes-int(h.fill), f.next
		b = b[headerBytes:]
	}
	f.next++
	n := min(f.need, len(b))
	f.msg.Payload = append(f.msg.Payload, b[:n]...)
	if f.need -= n; f.need > 0 {
		return false, nil
	}
	if f.msg.Flags == FlagMailbox {
		return false, c.toMailbox(f.msg.Payload)
	}
	return c.deliver(f.msg)
}

// toMailbox stores b where a write of the server to the mailbox would.
func (c *Caller) toMailbox(b []byte) error {
	if len(b) > RideBytes || len(b)%wordBytes != 0 {
		return protocolError("%d bytes for the mailbox, allowed are words up to %d", len(b), RideBytes)
	}
	for at := len(b) - wordBytes; at >= 0; at -= wordBytes {
		lines.Store(c.region.Bytes()[at:], b[at:at+wordBytes])
	}
	return nil
}
