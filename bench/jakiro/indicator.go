package jakiro

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// HydraDB's messages (Wang et al., "HydraDB: a resilient RDMA-driven key-value middleware for
// in-memory cluster computing", section 4.2.1), between the same client and server threads:
//
//	client thread                                 shard: a server thread
//	  message --------------------------Write---> request buffer of the connection, polled
//	                                              executes, zeroes the request
//	  response buffer, polled   <-------Write---  message
//	  takes the result, zeroes the buffer
//
//	message   byte 0  | size u32, 1 u32 |  indicator
//	               8  | body            |
//	                  | zeros to a word |
//	                  | 1               |  indicator, a word
//
// Both sides look at the first word, then at the one behind what it says. As with RFP's layout
// that relies on a Write whose bytes appear in the order of their addresses (doc.go).

const indicator = 1

// indicators is this protocol.
type indicators struct{}

// ask registers the response buffer. A client says where it lies, and the largest body.
func (indicators) ask(dev rdma.Device, l *lane, maxBody int) (ask []byte, err error) {
	if l.answer, err = dev.Register(messageBytes(maxBody), rdma.RemoteWrite); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(appendRemote(nil, l.answer), uint32(maxBody)), nil
}

func (indicators) askBytes() int { return remoteBytes + 4 }

func (indicators) refuses(ask []byte, maxBody int) string {
	if int(binary.LittleEndian.Uint32(ask[remoteBytes:])) != maxBody {
		return fmt.Sprintf("bodies here have at most %d bytes", maxBody)
	}
	return ""
}

func (indicators) buffers(dev rdma.Device, c *slot, ask []byte, maxBody int) (err error) {
	c.at = remoteAt(ask)
	if c.cq, err = dev.CreateCQ(1); err != nil {
		return err
	}
	if c.requests, err = dev.Register(messageBytes(maxBody), rdma.RemoteWrite); err != nil {
		return err
	}
	c.answers, err = dev.Register(messageBytes(maxBody), rdma.LocalWrite)
	return err
}

func (indicators) laneBytes(maxBody int) int                      { return messageBytes(maxBody) }
func (indicators) put(b, body []byte) int                         { return putMessage(b, body) }
func (indicators) find(mem []byte) (body []byte, there, bad bool) { return message(mem) }

// messageEnd is where the last word of a message is.
func messageEnd(body int) int { return word + (body+word-1)/word*word }

// messageBytes is the memory of a buffer for messages with bodies of at most body bytes, in whole lines.
func messageBytes(body int) int { return wholeLines(messageEnd(body) + word) }

// putMessage encodes a message into b, which may hold any bytes, and returns its own.
func putMessage(b, body []byte) int {
	end := messageEnd(len(body))
	binary.LittleEndian.PutUint64(b, uint64(len(body))|indicator<<32)
	clear(b[word+copy(b[word:], body) : end])
	binary.LittleEndian.PutUint64(b[end:], indicator)
	return end + word
}

// message returns the body of the message in a buffer, if both indicators show one. bad: the first
// says more than the buffer holds, or is none.
func message(mem []byte) (body []byte, there, bad bool) {
	first := load(mem, 0)
	if first == 0 {
		return nil, false, false
	}
	n := first & (1<<32 - 1)
	if first>>32 != indicator || n > uint64(len(mem)) || messageEnd(int(n))+word > len(mem) {
		return nil, false, true
	}
	if load(mem, messageEnd(int(n))) != indicator {
		return nil, false, false
	}
	return mem[word : word+n], true, false
}

// clearMessage zeroes a message, so that the next one shows when it has arrived.
func clearMessage(mem []byte, body int) {
	var zero [lines.Bytes]byte
	for at := 0; at < messageBytes(body); at += lines.Bytes {
		lines.Fill(mem[at:at+lines.Bytes], zero[:])
	}
}

// answer writes the result of a request into the client's response buffer.
func (indicators) answer(ctx context.Context, c *slot, asked int, result []byte) error {
	clearMessage(c.requests.Bytes(), asked)
	n := putMessage(c.answers.Bytes(), result)
	c.wr[0] = rdma.WorkRequest{Op: rdma.OpWrite, Local: rdma.Buffer{Region: c.answers, Len: n}, Remote: c.at}
	return post(ctx, c.qp, c.cq, c.wr[:], c.got[:])
}

// take looks once whether the answer has arrived, and appends its result to dst.
func (indicators) take(_ context.Context, c *Client, l *lane, dst []byte) (_ []byte, there bool, err error) {
	mem := l.answer.Bytes()
	body, there, bad := message(mem)
	switch {
	case bad:
		return dst, false, fmt.Errorf("%w: an answer that begins with %#x, at most %d bytes go", ErrProtocol, load(mem, 0), c.maxBody)
	case !there:
		return dst, false, nil
	}
	c.counts.Received += uint64(messageEnd(len(body)) + word)
	dst = append(dst, body...)
	clearMessage(mem, len(body))
	return dst, true, nil
}

// pauseFor is how long the paper's shard sleeps after a round that found nothing. A
// goroutine cannot: a timer of Go, as one of Linux, comes tens of microseconds late. It yields, 0.05
// to 0.3 us with no other goroutine to run, and again until the time has passed; so it is 100 ns or
// up to a yield more, in which other goroutines run, and the core is not given away.
const pauseFor = 100 * time.Nanosecond

func pause(now func() time.Time, yield func()) {
	for end := now().Add(pauseFor); ; {
		if yield(); !now().Before(end) {
			return
		}
	}
}

func (indicators) rest(idle int, emulated bool) {
	if emulated || idle%restAfter == 0 {
		rest(idle, emulated)
		return
	}
	pause(time.Now, runtime.Gosched)
}
