package catfish

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar/remote"
)

// lane is a connection for one offloaded search at a time, with the
// buffers that searches reuse.
type lane = remote.Reader

// limits bound an answer on this way as the others' bytes do.
var limits = remote.Limits{Items: maxReply / itemBytes, Batch: manyBytes / itemBytes}

// lanePool opens lanes as they are needed, up to a limit.
type lanePool struct {
	mu     sync.Mutex
	free   []*lane
	left   int // lanes that may still be opened
	out    int // lanes, or leaves to open one, that get has given away
	closed bool
	wait   chan struct{} // a token for each return; never fewer than lanes free

	stop    atomic.Bool   // tells the walks that run
	ended   chan struct{} // closed by close
	drained chan struct{} // closed when close was called and nothing is out
}

func (p *lanePool) init(limit int) {
	p.left, p.wait = limit, make(chan struct{}, limit)
	p.ended, p.drained = make(chan struct{}), make(chan struct{})
}

// get returns a free lane, or nil and leave to open one. Either is to be
// put back.
func (p *lanePool) get(ctx context.Context) (*lane, error) {
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			return nil, offload.ErrLane
		case len(p.free) > 0:
			l := p.free[len(p.free)-1]
			p.free = p.free[:len(p.free)-1]
			p.out++
			p.mu.Unlock()
			return l, nil
		case p.left > 0:
			p.left--
			p.out++
			p.mu.Unlock()
			return nil, nil
		}
		p.mu.Unlock()
		select {
		case <-p.wait:
		case <-p.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// put takes a lane back; nil gives back the leave to open one.
func (p *lanePool) put(l *lane) {
	p.mu.Lock()
	if l != nil && (p.closed || l.Err() != nil) {
		p.mu.Unlock()
		l.Close()
		p.mu.Lock()
		l = nil
	}
	if l == nil {
		p.left++
	} else {
		p.free = append(p.free, l)
	}
	if p.out--; p.out == 0 && p.closed {
		close(p.drained)
	}
	p.mu.Unlock()
	select {
	case p.wait <- struct{}{}:
	default:
	}
}

// close closes free lanes, ends the walks on those in use, which are
// closed when they come back, and turns away all who wait for one. A
// second time does nothing.
func (p *lanePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.stop.Store(true)
	close(p.ended)
	for _, l := range p.free {
		l.Close()
	}
	p.free = nil
	if p.out == 0 {
		close(p.drained)
	}
}

// errNoLane: the server opens no lane for us, because it is going or has
// too many. The search goes by fast messaging, which tells which.
var errNoLane = errors.New("catfish: cannot open a lane")

// lane returns a lane of this session, opening one if need be. The end
// of the client ends that too.
func (c *core) lane(ctx context.Context, s *session) (*lane, error) {
	l, err := s.lanes.get(ctx)
	if l != nil || err != nil {
		return l, err
	}
	dctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	ol, err := offload.Dial(dctx, s.dev, s.addr, offload.LaneConfig{
		BlockBytes: maxNode, Window: s.window, Private: lanePrivate(s.hello.BootID), Stop: &s.lanes.stop,
	})
	if err != nil {
		s.lanes.put(nil)
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errNoLane, err)
		}
		return nil, err
	}
	return remote.NewReader(ol, limits), nil
}
