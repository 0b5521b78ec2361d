package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/replica/windows"
)

// A copy's tar goes in pieces of up to windows.Bytes, each after a line with its length and
// sum. By the stream, its bytes follow the line. By RDMA Reads, the line says where it is in
// the source's windows; the learner answers with a line when it has read it, and then its
// window is filled again:
//
//	learner                                     source
//	         <-------------------------------- piece 1: bytes, sum, at
//	         <-------------------------------- piece 2
//	Reads of piece 1 ------------------------->
//	taken: 1 --------------------------------->  its window is free
//	...
//	         <-------------------------------- piece of 0 bytes: the end

// piece is the line of one.
type piece struct {
	Bytes int    `json:"bytes"`        // 0: there is no more
	Sum   uint32 `json:"sum"`          // CRC-32C
	At    uint64 `json:"at,omitempty"` // in the windows
}

// taken is the learner's answer by Reads.
type taken struct {
	Pieces int `json:"pieces"` // so far
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pieceWriter sends what is written to it.
type pieceWriter struct {
	c moving
	// source has the windows, and said is what the learner says; nil: pieces go by c.
	source *windows.Source
	said   *bufio.Reader
	count  *atomic.Int64 // of bytes

	buf         []byte // of the next piece, its window or own memory
	n           int    // of buf, that it has
	sent, taken int    // pieces
}

func (w *pieceWriter) Write(b []byte) (int, error) {
	all := len(b)
	for len(b) > 0 {
		if w.n == 0 {
			if err := w.next(); err != nil {
				return all - len(b), err
			}
		}
		k := copy(w.buf[w.n:], b)
		b = b[k:]
		if w.n += k; w.n == len(w.buf) {
			if err := w.flush(); err != nil {
				return all - len(b), err
			}
		}
	}
	return all, nil
}

// next finds memory for the next piece.
func (w *pieceWriter) next() error {
	switch {
	case w.source == nil && w.buf == nil:
		w.buf = make([]byte, windows.Bytes)
	case w.source != nil:
		if err := w.await(windows.Count - 1); err != nil {
			return err
		}
		w.buf = w.source.Window(w.sent % windows.Count)
	}
	return nil
}

// await waits until at most a number of pieces are still to be read.
func (w *pieceWriter) await(left int) error {
	for w.sent-w.taken > left {
		var is taken
		if err := readLine(w.said, &is); err != nil {
			return err
		}
		if w.taken++; is.Pieces != w.taken {
			return fmt.Errorf("the learner has taken %d pieces, it says, want %d", is.Pieces, w.taken)
		}
	}
	return nil
}

// flush sends a piece.
func (w *pieceWriter) flush() error {
	b := w.buf[:w.n]
	is := piece{Bytes: w.n, Sum: crc32.Checksum(b, castagnoli)}
	if w.source != nil {
		is.At = uint64(w.sent%windows.Count) * windows.Bytes
	}
	err := writeLine(w.c, is)
	if err == nil && w.source == nil {
		_, err = w.c.Write(b)
	}
	w.n = 0
	w.sent++
	w.count.Add(int64(len(b)))
	return err
}

// Close sends the end. The learner has all then, if it reads: no window is in use any more.
func (w *pieceWriter) Close() error {
	if w.n > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.source != nil {
		if err := w.await(0); err != nil {
			return err
		}
	}
	return writeLine(w.c, piece{})
}

// pieceReader reads what a pieceWriter has sent. Its goroutine fetches a piece while the one
// before is used.
type pieceReader struct {
	c      moving
	r      *bufio.Reader   // of c
	reads  *windows.Reader // nil: pieces come by c
	bufs   [windows.Buffers][]byte
	free   chan int     // of bufs
	ready  chan fetched // closed by the goroutine
	now    fetched      // being used
	left   []byte       // of now
	pieces int          // fetched
	count  func(n int)  // is called with the length of each
}

// fetched is a piece in bufs, or why there is none.
type fetched struct {
	buf, n int
	err    error
}

// newPieceReader fetches until ctx ends, or c, or the pieces. reads is not used any more when
// ready is closed.
func newPieceReader(ctx context.Context, c moving, r *bufio.Reader, reads *windows.Reader, count func(n int)) *pieceReader {
	p := &pieceReader{c: c, r: r, reads: reads, count: count, now: fetched{buf: -1},
		free: make(chan int, windows.Buffers), ready: make(chan fetched, windows.Buffers)}
	for i := range p.bufs {
		if reads != nil {
			p.bufs[i] = reads.Buffer(i)
		} else {
			p.bufs[i] = make([]byte, windows.Bytes)
		}
		p.free <- i
	}
	go p.run(ctx)
	return p
}

func (p *pieceReader) run(ctx context.Context) {
	defer close(p.ready)
	for {
		select {
		case <-ctx.Done():
			return
		case i := <-p.free:
			n, err := p.fetch(ctx, i)
			p.ready <- fetched{i, n, err}
			if err != nil {
				return
			}
		}
	}
}

// fetch fetches the next piece into a buffer. io.EOF: there is none.
func (p *pieceReader) fetch(ctx context.Context, i int) (int, error) {
	var is piece
	if err := readLine(p.r, &is); err != nil {
		return 0, noEnd(err)
	}
	switch {
	case is.Bytes == 0:
		return 0, io.EOF
	case is.Bytes < 0 || is.Bytes > windows.Bytes:
		return 0, fmt.Errorf("a piece of %d bytes, want 1 to %d", is.Bytes, windows.Bytes)
	}
	b := p.bufs[i][:is.Bytes]
	var err error
	if p.reads != nil {
		err = p.reads.Read(ctx, i, is.At, is.Bytes)
	} else {
		_, err = io.ReadFull(p.r, b)
	}
	if err != nil {
		return 0, noEnd(err)
	}
	p.pieces++
	if sum := crc32.Checksum(b, castagnoli); sum != is.Sum {
		return 0, fmt.Errorf("piece %d of %d bytes has sum %#x, the source says %#x", p.pieces, len(b), sum, is.Sum)
	}
	if p.reads != nil {
		err = writeLine(p.c, taken{p.pieces})
	}
	p.count(len(b))
	return len(b), err
}

// noEnd: a stream or queue pair that ends is not the end of the pieces.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %s", io.ErrUnexpectedEOF, err.Error())
	}
	return err
}

func (p *pieceReader) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		if p.now.err != nil {
			return 0, p.now.err
		}
		if p.now.buf >= 0 {
			p.free <- p.now.buf
			p.now.buf = -1
		}
		f, ok := <-p.ready
		if !ok {
			return 0, context.Canceled
		}
		p.now, p.left = f, p.bufs[f.buf][:f.n]
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// end waits until the goroutine has ended, after ctx and c.
func (p *pieceReader) end() {
	for range p.ready { // It fills no more than is free.
	}
}
