package client

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
)

// startPinning starts a server whose device of a transport pins memory.
func startPinning(t *testing.T, of string, transports ...string) (*server.Server, *catfishtest.Pinning) {
	p := catfishtest.NewPinning(nil)
	s := startServer(t, server.WithServerHooks(server.Options{Transports: transports, SlabBytes: 64 << 20}, p.Hooks(of)))
	return s, p
}
