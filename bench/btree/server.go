package btree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Kinds of requests and answers, little-endian words.
const (
	kindScan   fastmsg.Kind = 1 + iota // from, to -> items
	kindPut                            // key, value -> nothing
	kindDelete                         // key -> 1 if it existed, else 0
	kindAnswer
	kindError // text
)

const (
	wordBytes = 8
	itemBytes = 2 * wordBytes
	// helloBytes: the slab's remote key and address, and its size in nodes.
	helloBytes = 3 * wordBytes
)

// Places are the addresses of a Server: of the rings, and of the read channels.
type Places struct{ Rings, Reads string }

// Server serves a tree in registered memory, with one worker.
type Server struct {
	Tree *Tree

	places  Places
	slab    rdma.Region
	worker  *fastmsg.Worker
	beats   *heartbeat.Sender
	monitor *heartbeat.Monitor
	reads   rdma.CompletionQueue
	stop    context.CancelFunc
	running sync.WaitGroup
	closers []func() error
}

// Serve begins to serve an empty tree in slabBytes of memory on a device, which outlives it.
// With poll the worker never sleeps.
func Serve(dev rdma.Device, at Places, slabBytes int, poll bool) (_ *Server, err error) {
	s := &Server{}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("btree: serving: %w", err), s.Close())
		}
	}()
	if s.slab, err = dev.Register(slabBytes, rdma.RemoteRead); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.slab.Close)
	if s.Tree, err = New(s.slab.Bytes()); err != nil {
		return nil, err
	}
	if s.monitor, err = heartbeat.NewMonitor(heartbeat.MonitorConfig{Work: s.work}); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.monitor.Close)
	if s.beats, err = heartbeat.NewSender(dev, heartbeat.SenderConfig{Load: s.monitor.Load}); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.beats.Close)
	s.worker, err = fastmsg.NewWorker(dev, &handler{s: s}, fastmsg.WorkerConfig{
		Polling: poll,
		Hello:   func(string, []byte) ([]byte, error) { return s.hello(), nil },
		Tick:    func(now time.Time, _ []*fastmsg.Conn) bool { return s.beats.Tick(now) },
	})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.worker.Close)
	if s.reads, err = dev.CreateCQ(1); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, s.reads.Close)
	s.running.Go(func() { _ = s.worker.Run(ctx) }) // It ends by stop.
	s.places.Rings, err = s.listen(ctx, dev, at.Rings, s.worker.Accept)
	if err != nil {
		return nil, err
	}
	s.places.Reads, err = s.listen(ctx, dev, at.Reads, func(r rdma.ConnRequest) error {
		_, err := r.Accept(rdma.QPConfig{SendCQ: s.reads, RecvCQ: s.reads}, nil)
		return err
	})
	return s, err
}

// listen accepts connections until the server closes. A client that could not be accepted
// gets the error, too.
func (s *Server) listen(ctx context.Context, dev rdma.Device, addr string, accept func(rdma.ConnRequest) error) (string, error) {
	ln, err := dev.Listen(addr)
	if err != nil {
		return "", err
	}
	s.closers = append(s.closers, ln.Close)
	s.running.Go(func() {
		for {
			req, err := ln.Accept(ctx)
			if err != nil {
				return
			}
			_ = accept(req)
		}
	})
	return ln.Addr(), nil
}

// Places are where clients dial.
func (s *Server) Places() Places { return s.places }

// Close ends the server and its connections.
func (s *Server) Close() error {
	s.stop()
	s.running.Wait()
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	s.closers = nil
	return err
}

func (s *Server) hello() []byte {
	at := s.slab.Remote()
	b := binary.LittleEndian.AppendUint64(nil, uint64(at.Key))
	b = binary.LittleEndian.AppendUint64(b, at.Addr)
	return binary.LittleEndian.AppendUint64(b, uint64(s.Tree.Chunks()))
}

func (s *Server) work() heartbeat.Work {
	w := s.worker.Stats()
	return heartbeat.Work{Busy: w.Busy, Spun: w.Spun, Requests: w.Requests, BytesOut: w.BytesOut, Waiting: w.Waiting}
}

// handler is the worker's fastmsg.Handler.
type handler struct {
	s      *Server
	items  []Item
	answer []byte
}

// Opened implements fastmsg.Handler.
func (h *handler) Opened(c *fastmsg.Conn) { c.Context = h.s.beats.Add(c, 0) }

// Closed implements fastmsg.Handler.
func (h *handler) Closed(c *fastmsg.Conn, _ error) {
	h.s.beats.Remove(c.Context.(*heartbeat.Subscription)) // Opened has set it.
}

// Serve implements fastmsg.Handler.
func (h *handler) Serve(c *fastmsg.Conn, m fastmsg.Message) {
	if err := h.serve(m); err != nil {
		c.Respond(kindError, m.ID, []byte(err.Error()))
		return
	}
	c.Respond(kindAnswer, m.ID, h.answer)
}

func (h *handler) serve(m fastmsg.Message) (err error) {
	h.answer = h.answer[:0]
	want := itemBytes
	if m.Kind == kindDelete {
		want = wordBytes
	}
	if len(m.Payload) != want {
		return fmt.Errorf("a request of kind %d has %d bytes, want %d", m.Kind, len(m.Payload), want)
	}
	switch m.Kind {
	case kindScan:
		h.items, err = h.s.Tree.Scan(word(m.Payload, 0), word(m.Payload, wordBytes), h.items[:0])
		for _, it := range h.items {
			h.answer = binary.LittleEndian.AppendUint64(h.answer, it.Key)
			h.answer = binary.LittleEndian.AppendUint64(h.answer, it.Value)
		}
		return err
	case kindPut:
		return h.s.Tree.Put(word(m.Payload, 0), word(m.Payload, wordBytes))
	case kindDelete:
		was, err := h.s.Tree.Delete(word(m.Payload, 0))
		if h.answer = append(h.answer, 0); was {
			h.answer[0] = 1
		}
		return err
	}
	return fmt.Errorf("a request of kind %d, want %d to %d", m.Kind, kindScan, kindDelete)
}
