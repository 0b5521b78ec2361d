package server

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Of the tests of client and server.
var (
	oneSided, offered, testFabric = catfishtest.OneSided, catfishtest.Offered, catfishtest.Fabric

	eventually      = catfishtest.Eventually
	everything      = catfishtest.Everything
	featureRequests = catfishtest.FeatureRequests
	follow          = catfishtest.Follow
	fuzzPlace       = catfishtest.FuzzPlace
	keepYoung       = catfishtest.KeepYoung
	neverResident   = catfishtest.NeverResident
	nothingHeld     = catfishtest.NothingHeld
	numbered        = catfishtest.Numbered
	ownAddr         = catfishtest.OwnAddr
	partOf          = catfishtest.PartOf
	putUpload       = catfishtest.PutUpload
	quiet           = catfishtest.Quiet
	square          = catfishtest.Square
	testKey         = catfishtest.Key
	testPlace       = catfishtest.Feature
	text            = catfishtest.Text
)

// startServer serves until the test ends. Slabs are small: tests run many.
func startServer(t testing.TB, opts Options) *Server {
	t.Helper()
	if opts.SlabBytes == 0 {
		opts.SlabBytes = 64 << 20
	}
	if opts.SocketPath == "" {
		opts.SocketPath = filepath.Join(t.TempDir(), "s")
	}
	if opts.Transports == nil {
		opts.Transports = offered
	}
	opts.Fabric = testFabric
	opts.Logger = quiet()
	s, err := NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	catfishtest.Run(t, s)
	return s
}

func dial(t testing.TB, s *Server, opts client.Options) *client.Client {
	t.Helper()
	opts.Logger = quiet()
	if opts.DialTimeout == 0 {
		opts.DialTimeout = time.Minute // A busy machine has taken more than the default.
	}
	c, err := client.Dial(t.Context(), s.Addr(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func tree(t testing.TB, s *Server) *rstar.Tree {
	t.Helper()
	tr, err := s.Collection(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// path is a way that a search can take: transport, scheme, and a wrapper
// around the client's device for fault injection.
type path struct {
	name      string
	transport string
	policy    string
	wrap      func(rdma.Device) rdma.Device
}

// paths are all schemes of an event-driven server over all transports.
func paths() []path {
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload-single", "offload", "offload-cached", "paper-literal", "paper"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	return ps
}

// pollingPaths are the schemes whose clients keep their workers polling.
func pollingPaths() []path {
	var ps []path
	for _, tr := range oneSided {
		for _, p := range []string{"fast-polling", "fast-polling-cq"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	if runtime.GOARCH == "amd64" { // where shm has the order that it needs
		ps = append(ps, path{name: "shm/farm", transport: "shm", policy: "farm"})
	}
	return ps
}

func (p path) options() client.Options {
	return client.WithHooks(client.Options{Transport: p.transport, Policy: p.policy, DialTimeout: 10 * time.Second}, func(h *wire.ClientHooks) { h.Wrap = p.wrap })
}
