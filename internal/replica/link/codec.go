// Package link carries the messages of members over a stream, such as TCP: the lane where
// no RDMA is. A message is
//
//	0 length u32 of what follows the sum | 4 CRC-32C u32 of it | 8 kind u8 | body
//
// Numbers are little-endian. What is read is checked before it is used: lengths against
// limits, the sum, revisions without gaps.
package link

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// ErrMalformed: the other side sent what is no message.
var ErrMalformed = errors.New("link: malformed message")

// MaxBytes is the longest message: one entry of the greatest size fits.
const MaxBytes = 2*disk.MaxValueBytes + disk.MaxKeyBytes + 1<<10

const (
	kindHello     = 1
	kindFrame     = 2
	kindAck       = 3
	kindCopyFirst = 4
)

const prefix = 4 + 4

// maxSpans bounds the history of a Hello: a term each is a failover.
const maxSpans = 1 << 20

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Append appends a message.
func Append(b []byte, m replica.Message) []byte {
	at := len(b)
	b = append(b, make([]byte, prefix)...)
	switch m := m.(type) {
	case *replica.Hello:
		b = numbers(append(b, kindHello), m.Term, m.Session, m.End, uint64(len(m.History)))
		for _, s := range m.History {
			b = numbers(b, s.Term, s.First)
		}
	case *replica.Frame:
		start := byte(0)
		if m.Start {
			start = 1
		}
		b = numbers(append(b, kindFrame, start), m.Term, m.Session, m.Prev, m.Committed, uint64(m.Sent), uint64(len(m.Entries)))
		for i := range m.Entries {
			e := m.Entries[i].Data.(*disk.Entry)
			b = e.Append(le.AppendUint32(b, uint32(e.Bytes())))
		}
	case *replica.Ack:
		b = numbers(append(b, kindAck), m.Term, m.Session, m.Received, m.Durable, m.Applied, uint64(m.Echo))
	case *replica.CopyFirst:
		b = numbers(append(b, kindCopyFirst), m.Term, m.Session)
	}
	body := b[at+prefix:]
	le.PutUint32(b[at:], uint32(len(body)))
	le.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
	return b
}

func numbers(b []byte, all ...uint64) []byte {
	for _, n := range all {
		b = le.AppendUint64(b, n)
	}
	return b
}

// Read reads a message. Its bytes are the caller's.
func Read(r *bufio.Reader) (replica.Message, error) {
	var head [prefix]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := le.Uint32(head[:])
	if n == 0 || n > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrMalformed, n, MaxBytes)
	}
	b, err := readBody(r, int(n))
	if err != nil {
		return nil, err
	}
	if sum := le.Uint32(head[4:]); sum != crc32.Checksum(b, castagnoli) {
		return nil, fmt.Errorf("%w: its sum", ErrMalformed)
	}
	return parse(b)
}

// readBody takes memory as bytes come, not as the length says.
func readBody(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		at := len(b)
		b = append(b, make([]byte, min(n-at, step))...)
		if _, err := io.ReadFull(r, b[at:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// cursor reads numbers, and notes if there are too few.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if c.bad = c.bad || n > len(c.b); c.bad {
		return nil
	}
	b := c.b[:n:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) number() uint64 {
	if b := c.take(8); b != nil {
		return le.Uint64(b)
	}
	return 0
}

func parse(b []byte) (replica.Message, error) {
	c := &cursor{b: b[1:]}
	var m replica.Message
	switch b[0] {
	case kindHello:
		h := &replica.Hello{Term: c.number(), Session: c.number(), End: c.number()}
		n := c.number()
		if n > maxSpans || n*16 > uint64(len(c.b)) {
			return nil, fmt.Errorf("%w: %d terms", ErrMalformed, n)
		}
		for range n {
			h.History = append(h.History, replica.Span{Term: c.number(), First: c.number()})
		}
		m = h
	case kindFrame:
		f, err := parseFrame(c)
		if err != nil {
			return nil, err
		}
		m = f
	case kindAck:
		m = &replica.Ack{Term: c.number(), Session: c.number(), Received: c.number(), Durable: c.number(),
			Applied: c.number(), Echo: time.Duration(c.number())}
	case kindCopyFirst:
		m = &replica.CopyFirst{Term: c.number(), Session: c.number()}
	default:
		return nil, fmt.Errorf("%w: kind %d", ErrMalformed, b[0])
	}
	if c.bad || len(c.b) != 0 {
		return nil, fmt.Errorf("%w: kind %d with %d bytes", ErrMalformed, b[0], len(b))
	}
	return m, nil
}

func parseFrame(c *cursor) (*replica.Frame, error) {
	start := c.take(1)
	f := &replica.Frame{Start: start != nil && start[0] == 1, Term: c.number(), Session: c.number(), Prev: c.number(),
		Committed: c.number(), Sent: time.Duration(c.number())}
	n := c.number()
	if c.bad || start[0] > 1 || n > uint64(len(c.b))/4 || f.Prev+n < f.Prev {
		return nil, fmt.Errorf("%w: a frame of %d entries after %d", ErrMalformed, n, f.Prev)
	}
	f.Last = f.Prev + n
	f.Entries = make([]replica.Entry, n)
	for i := range f.Entries {
		size := c.take(4)
		if c.bad {
			return nil, fmt.Errorf("%w: entry %d of %d is missing", ErrMalformed, i, n)
		}
		e, err := disk.ParseEntry(f.Prev+1+uint64(i), c.take(int(le.Uint32(size))))
		if err != nil || c.bad {
			return nil, fmt.Errorf("%w: entry %d of %d: %w", ErrMalformed, i, n, err)
		}
		f.Entries[i] = replica.Entry{Term: e.Term(), Data: &e}
	}
	return f, nil
}
