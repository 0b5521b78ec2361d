//go:build linux

package kvpeers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/kv"
)

var (
	// ErrScheme: no peer or transport of this name exists.
	ErrScheme = errors.New("kvpeers: unknown scheme")
	// ErrMissing: a server's program is not installed; the text says what to
	// install.
	ErrMissing = errors.New("kvpeers: not installed")
	// ErrAnswer: a server's answer is an error, or is not understood. The
	// connection is unusable afterwards.
	ErrAnswer = errors.New("kvpeers: bad answer")
)

// gcPercent of a client process: little is live, and Redis's client allocates.
const gcPercent = 400

// Dial is the kv.Dialer of the peers.
func Dial(ctx context.Context, job kv.ClientJob) (kv.Store, error) {
	p, transport, err := find(job.Scheme)
	if err != nil {
		return nil, err
	}
	debug.SetGCPercent(gcPercent) // of this process, which is a client only
	s, err := p.dial(ctx, dialer{transport, job.Addr})
	if err != nil {
		return nil, fmt.Errorf("kvpeers: dialling %s at %s: %w", p.name, job.Addr, err)
	}
	return s, nil
}

// dialer connects to an address.
type dialer struct{ network, addr string }

func (d dialer) dial(ctx context.Context, nd *net.Dialer) (net.Conn, error) {
	return nd.DialContext(ctx, d.network, d.addr)
}

// Info of a connection; only its network is known.
func (d dialer) Info() bench.Info { return bench.Info{Transport: d.network} }

// Counters are 0: peers do not report them.
func (d dialer) Counters() kv.Counters { return kv.Counters{} }
