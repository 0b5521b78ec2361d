package server

import (
	"github.com/catfish-index/catfish/internal/wire"
)

// WithServerHooks returns options with hooks for tests of this module.
func WithServerHooks(o Options, set func(*wire.ServerHooks)) Options {
	set(&o.hooks)
	return o
}

// CutReadChannels ends up to c.Most read channels of the first transport, and returns how
// many, for tests of this module.
func CutReadChannels(s *Server, c wire.Cut) (n int) {
	f := s.fabrics[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	for qp := range f.readChannels {
		if n == c.Most {
			break
		}
		delete(f.readChannels, qp)
		go qp.Close()
		n++
	}
	return n
}
