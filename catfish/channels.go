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

// channelPool owns the read channels of one session. It opens them as they
// are needed, up to a limit. A search that is offloaded has one to itself,
// from get to put:
//
//	      get                   put
//	free -----> one search's --------> free
//	 ^                 |
//	 | open            | the channel broke, or the pool is closed
//	not opened <-------+
type channelPool struct {
	open func(ctx context.Context) (*remote.Reader, error)

	mu     sync.Mutex
	free   []*remote.Reader
	left   int // channels that may still be opened
	out    int // channels, or permissions to open one, that take gave out
	closed bool
	wait   chan struct{} // a token for each return; never fewer than free channels

	stop    atomic.Bool   // ends the walks that run
	ended   chan struct{} // closed by close
	drained chan struct{} // closed when close was called and nothing is out
}

// errNoChannel: the server opens no read channel for this client, because
// it is about to end or has too many. The search takes fast messaging, whose
// answer shows which of the two it is.
var errNoChannel = errors.New("catfish: cannot open a read channel")

func (p *channelPool) init(limit int, open func(ctx context.Context) (*remote.Reader, error)) {
	p.open = open
	p.left, p.wait = limit, make(chan struct{}, limit)
	p.ended, p.drained = make(chan struct{}), make(chan struct{})
}

// get returns a read channel, which is to be put back. It waits for one if
// all are in use.
func (p *channelPool) get(ctx context.Context) (*remote.Reader, error) {
	r, err := p.take(ctx)
	if r != nil || err != nil {
		return r, err
	}
	if r, err = p.open(ctx); err == nil {
		return r, nil
	}
	p.put(nil)
	if ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errNoChannel, err)
	}
	return nil, err
}

// take returns a free channel, or nil, which is the permission to open one.
// Either is to be put back.
func (p *channelPool) take(ctx context.Context) (*remote.Reader, error) {
	for {
		p.mu.Lock()
		switch {
		case p.closed:
			p.mu.Unlock()
			return nil, offload.ErrChannel
		case len(p.free) > 0:
			r := p.free[len(p.free)-1]
			p.free = p.free[:len(p.free)-1]
			p.out++
			p.mu.Unlock()
			return r, nil
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

// put takes a channel back; nil gives back the permission to open one.
func (p *channelPool) put(r *remote.Reader) {
	p.mu.Lock()
	if r != nil && (p.closed || r.Err() != nil) {
		p.mu.Unlock()
		r.Close()
		p.mu.Lock()
		r = nil
	}
	if r == nil {
		p.left++
	} else {
		p.free = append(p.free, r)
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

// close closes the free channels, ends the walks on those in use, which
// are closed when they come back, and turns away all callers of get. A
// second call does nothing.
func (p *channelPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.stop.Store(true)
	close(p.ended)
	for _, r := range p.free {
		r.Close()
	}
	p.free = nil
	if p.out == 0 {
		close(p.drained)
	}
}

// answerLimits bound what reading brings home as messages do in bytes.
var answerLimits = remote.Limits{Items: maxReply / itemBytes, Batch: manyBytes / itemBytes}

// openReadChannel dials a read channel to the session's server. The end of
// the client ends that too.
func (c *connection) openReadChannel(ctx context.Context, s *session) (*remote.Reader, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	ch, err := offload.Dial(ctx, s.dev, s.addr, offload.ChannelConfig{
		BlockBytes: maxNode, Window: s.window, Private: readChannelPrivate(s.hello.BootID), Stop: &s.channels.stop,
	})
	if err != nil {
		return nil, err
	}
	return remote.NewReader(ch, answerLimits), nil
}
