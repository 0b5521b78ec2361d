package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/windows"
)

// The initial sync of a member whose log ends before that of the primary begins, or which
// has no store at all: a checkpoint of the primary's store. It is what the primary has
// published, so the member continues with the log from there.
//
//	learner                                     source
//	greeting, with copy, and ring ------------->
//	         <--------------------------------  welcome
//	queue pair, by both's options (ringpair.go)
//	         <--------------------------------  offer: how many files and bytes
//	         <--------------------------------  pieces of the tar (copypieces.go, copytar.go)

// copySuffix is what the directory of a checkpoint has beside that of the data.
const copySuffix = ".copying"

// ErrCopy: a copy of a store did not arrive whole.
var ErrCopy = errors.New("replica: the copy of the store is not whole")

const (
	// idleTime is how long a copy may stand still: its source makes a checkpoint before it
	// sends, and its receiver syncs each file.
	idleTime = time.Minute
	// progressTime is how often its receiver says how much it has.
	progressTime = 10 * time.Second
)

// moving ends reads and writes that stand still.
type moving struct{ net.Conn }

func (c moving) Read(b []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(idleTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c moving) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(idleTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// after reads what r has of c already, and then c.
func (c moving) after(r *bufio.Reader) *bufio.Reader {
	has, _ := r.Peek(r.Buffered())
	return bufio.NewReaderSize(io.MultiReader(bytes.NewReader(has), c), lineBytes)
}

// CopyStatus is a copy of the store that a member sends.
type CopyStatus struct {
	To                string // an address
	Transport, Reason string // as those of LaneStatus
	Sent, Bytes       int64  // of all: about the size of the store
}

// sending is the copy that is being sent.
type sending struct {
	is   CopyStatus
	sent atomic.Int64
}

// Copying is the copy that this member sends now, nil: none.
func (n *Node) Copying() *CopyStatus {
	s := n.sending.Load()
	if s == nil {
		return nil
	}
	is := s.is
	is.Sent = min(s.sent.Load(), is.Bytes)
	return &is
}

// sendCopy sends a checkpoint. The caller has locked n.copying.
func (n *Node) sendCopy(c net.Conn, r *bufio.Reader, hi greeting) {
	defer n.copying.Unlock()
	began, s := time.Now(), &sending{is: CopyStatus{To: c.RemoteAddr().String(), Transport: streamTransport, Reason: "the learner has no rings"}}
	err := n.serveCopy(c, r, hi, s)
	log := n.log.With("to", s.is.To, "transport", s.is.Transport, "reason", s.is.Reason)
	if err != nil {
		n.counts.copiesFailed.Add(1)
		log.Warn("the store could not be copied to a member", "error", err)
		return
	}
	n.counts.copies.Add(1)
	log.Info("the store was copied to a member", "bytes", s.is.Bytes, "took", time.Since(began).Round(time.Millisecond))
}

// serveCopy agrees on a way, and sends a checkpoint by it.
func (n *Node) serveCopy(c net.Conn, r *bufio.Reader, hi greeting, s *sending) (err error) {
	w := &pieceWriter{c: moving{c}, count: &s.sent}
	if hi.Ring {
		p := &invited{peer: hi.From, copies: true}
		var by LaneStatus
		if by, err = n.lanes.invite(c, r, p); err != nil {
			return err
		}
		s.is.Transport, s.is.Reason = by.Transport, by.Reason
		if w.source = p.source; w.source != nil {
			w.said = w.c.after(r)
			defer watch(n.ctx, w.source, c)(&err)
		}
	}
	dir := strings.TrimRight(n.o.Dir, "/") + copySuffix
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := n.o.Store.Copy(dir); err != nil {
		return err
	}
	of, err := measure(dir)
	if err != nil {
		return err
	}
	s.is.Bytes = of.Bytes
	n.sending.Store(s)
	defer n.sending.Store(nil)
	if err := writeLine(w.c, of); err != nil {
		return err
	}
	if err := pack(w, dir); err != nil {
		return err
	}
	return w.Close()
}

// watch ends a stream when its queue pair ends. What it returns frees the windows, and adds
// the reason to an error that the stream's end has caused.
func watch(ctx context.Context, s *windows.Source, c net.Conn) (end func(*error)) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := s.Wait(ctx)
		_ = c.Close()
		ended <- err
	}()
	return func(why *error) {
		cancel()
		if err := <-ended; *why != nil && !errors.Is(err, context.Canceled) {
			*why = errors.Join(*why, err)
		}
		s.Close()
	}
}

// FetchCopy makes dir, which does not exist, a copy of the store of a group's member at an
// address. After an error nothing of it is left. Of the options Group, Dial, Key, Rings and
// Logger count. ErrNotAdmitted, ErrBusy: the member refuses, and has sent nothing. ErrRing: there
// is no queue pair, and Rings.Must. disk.ErrNoRoom: the copy has more bytes than are free.
func FetchCopy(ctx context.Context, o Options, addr, dir string) (err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := o.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	r := bufio.NewReaderSize(c, lineBytes)
	if err := o.greet(c, r, greeting{Copy: true, Ring: o.Rings != nil}); err != nil {
		return err
	}
	by, reads, free, err := o.openReads(ctx, c, r, addr)
	defer free()
	if err != nil {
		return fmt.Errorf("replica: copying from the member at %s: %w", addr, err)
	}
	part := dir + copySuffix
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w: from %s: %w", ErrCopy, addr, err), os.RemoveAll(part))
		}
	}()
	if err := os.MkdirAll(part, 0o700); err != nil {
		return err
	}
	in := moving{c}.after(r)
	var of offer
	if err := readLine(in, &of); err != nil {
		return noEnd(err)
	}
	if err := of.check(part); err != nil {
		return err
	}
	log := o.Logger.With("from", addr, "transport", by.Transport, "reason", by.Reason, "bytes", of.Bytes)
	log.Info("the store comes", "files", of.Files)
	began, came, said := time.Now(), int64(0), time.Now()
	p := newPieceReader(ctx, moving{c}, in, reads, func(n int) {
		if came += int64(n); time.Since(said) >= progressTime {
			said = time.Now()
			log.Info("the store is coming", "came", min(came, of.Bytes))
		}
	})
	defer p.end()
	defer c.Close()
	defer cancel()
	if err := unpack(p, part, of); err != nil {
		return err
	}
	log.Info("the store has come", "took", time.Since(began).Round(time.Millisecond))
	return os.Rename(part, dir)
}

// openReads agrees with the source on a way: reads is nil for the stream. free is to be called
// in any case.
func (o *Options) openReads(ctx context.Context, c net.Conn, r *bufio.Reader, addr string) (by LaneStatus, reads *windows.Reader, free func(), err error) {
	if o.Rings == nil {
		return LaneStatus{Transport: streamTransport, Reason: "an option"}, nil, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	free = func() {}
	by, _, err = o.openPair(ctx, c, r, addr, func(dev rdma.Device, at string, hi invitation) (err error) {
		reads, err = windows.Dial(ctx, dev, at, layout.Hello{Boot: hi.Boot, Ticket: hi.Ticket, Group: layout.GroupSum(o.Group)})
		if err != nil {
			reads = nil
			return err
		}
		free = func() {
			reads.Close()
			_ = dev.Close()
		}
		return nil
	})
	return by, reads, free, err
}
