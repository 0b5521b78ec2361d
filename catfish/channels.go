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

// read channel is a connection for one offloaded search at a time, with the
// buffers that searches reuse.
type readChannel = remote.Reader

// limits bound an answer on this way as the others' bytes do.
var limits = remote.Limits{Items: maxReply / itemBytes, Batch: manyBytes / itemBytes}

// channelPool opens read channels as they are needed, up to a limit.
type channelPool struct {
	mu     sync.Mutex
	free   []*remote.Reader
	left   int // read channels that may still be opened
	out    int // read channels, or leaves to open one, that get has given away
	closed bool
	wait   chan struct{} // a token for each return; never fewer than read channels free

	stop    atomic.Bool   // tells the walks that run
	ended   chan struct{} // closed by close
	drained chan struct{} // closed when close was called and nothing is out
}

func (p *channelPool) init(limit int) {
	p.left, p.wait = limit, make(chan struct{}, limit)
	p.ended, p.drained = make(chan struct{}), make(chan struct{})
}

// get returns a free read channel, or nil and leave to open one. Either is to be
// put back.
func (p *channelPool) get(ctx context.Context) (*remote.Reader, error) {
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			return nil, offload.ErrChannel
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

// put takes a read channel back; nil gives back the leave to open one.
func (p *channelPool) put(l *remote.Reader) {
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

// close closes free read channels, ends the walks on those in use, which are
// closed when they come back, and turns away all who wait for one. A
// second time does nothing.
func (p *channelPool) close() {
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

// errNoChannel: the server opens no read channel for us, because it is going or has
// too many. The search goes by fast messaging, which tells which.
var errNoChannel = errors.New("catfish: cannot open a read channel")

// read channel returns a read channel of this session, opening one if need be. The end
// of the client ends that too.
func (c *core) readChannel(ctx context.Context, s *session) (*remote.Reader, error) {
	l, err := s.channels.get(ctx)
	if l != nil || err != nil {
		return l, err
	}
	dctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	ol, err := offload.Dial(dctx, s.dev, s.addr, offload.ChannelConfig{
		BlockBytes: maxNode, Window: s.window, Private: lanePrivate(s.hello.BootID), Stop: &s.channels.stop,
	})
	if err != nil {
		s.channels.put(nil)
		if ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", errNoChannel, err)
		}
		return nil, err
	}
	return remote.NewReader(ol, limits), nil
}
