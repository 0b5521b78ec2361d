package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestRefusedWhileMemoryIsFull: while the memory is full, writes, new collections, and
// connections over rings are refused with an error. Clients that are connected continue.
func TestRefusedWhileMemoryIsFull(t *testing.T) {
	for _, transport := range []string{model.TransportSHM, model.TransportSoft, model.TransportTCP} {
		t.Run(transport, func(t *testing.T) { refusedWhileFull(t, transport) })
	}
}

func refusedWhileFull(t *testing.T, transport string) {
	s := startFeatures(t, WithServerHooks(Options{SlabBytes: 1 << 20}, neverResident))
	opts := client.Options{Transport: transport, Logger: quiet()}
	c := dial(t, s, opts)
	places, err := c.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	s.observe(s.opts.MemoryLimit + 1)
	_, _, put := places.Put(t.Context(), model.Feature{ID: "a"}, kv.Condition{})
	_, patch := places.Patch(t.Context(), "a", []byte("{}"), kv.Condition{})
	for name, err := range map[string]error{
		"insert":          c.Insert(t.Context(), square(1, 1), 1),
		"create":          c.CreateCollection(t.Context(), "another"),
		"create features": c.CreateFeatures(t.Context(), "another", model.FeaturesOptions{}),
		"put":             put,
		"patch":           patch,
	} {
		if !errors.Is(err, model.ErrBusy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	more, err := client.Dial(t.Context(), s.Addr(), opts)
	if err == nil {
		defer more.Close()
	}
	// A plain socket takes little and has a separate budget, and an operator may
	// need it to look at the server, or to drop a collection.
	if socket := transport == model.TransportTCP; socket != (err == nil) || !socket && !errors.Is(err, model.ErrBusy) && !strings.Contains(err.Error(), "--memory-limit") {
		t.Errorf("one more client: %v", err)
	}
	for _, f := range s.fabrics {
		req := &channelRequest{private: wire.ReadChannelPrivate(s.bootID)}
		if err := f.acceptReadChannel(t.Context(), req); !errors.Is(err, model.ErrBusy) || !strings.Contains(req.rejected, "--memory-limit") {
			t.Errorf("a read channel of %s: %v, rejected by %q", f.name, err, req.rejected)
		}
	}
	if _, err := c.Count(t.Context(), square(1, 1)); err != nil {
		t.Errorf("count: %v", err)
	}
	if n, err := places.Count(t.Context(), model.FeatureQuery{}); n != 0 || err != nil {
		t.Errorf("count of features: %d, %v", n, err)
	}
	s.observe(0)
	if _, _, err := places.Put(t.Context(), model.Feature{ID: "a"}, kv.Condition{}); err != nil {
		t.Errorf("put, with memory again: %v", err)
	}
	if err := c.Insert(t.Context(), square(1, 1), 1); err != nil {
		t.Errorf("insert, with memory again: %v", err)
	}
}

// channelRequest asks for a read channel.
type channelRequest struct {
	rdma.ConnRequest
	private  []byte
	rejected string
}

func (r *channelRequest) PrivateData() []byte { return r.private }

func (r *channelRequest) Reject(why string) error {
	r.rejected = why
	return nil
}

// TestServerCountsRings: rings count in full, whatever size clients choose, and a
// refusal names the limit.
func TestServerCountsRings(t *testing.T) {
	s := startServer(t, WithServerHooks(Options{SlabBytes: 1 << 20, MemoryLimit: minMemoryLimit}, neverResident))
	opts := client.Options{Transport: model.TransportSoft, Logger: quiet()}
	dial(t, s, opts)
	if used := s.budgets.rings.Use().Used; used != 576<<10 {
		t.Errorf("%d bytes count of a client with default rings, want 576 KiB", used)
	}
	opts.RingBytes = fastmsg.MaxRingBytes
	for range 3 {
		dial(t, s, opts)
	}
	c, err := client.Dial(t.Context(), s.Addr(), opts)
	if err == nil {
		c.Close()
		t.Fatal("40 MiB of rings within 32 MiB")
	}
	if !strings.Contains(err.Error(), "limit 33554432") {
		t.Errorf("%v", err)
	}
}

// TestRingsThatMayBeFilledCount: trees stop growing while they and all rings, if filled,
// would not fit together.
func TestRingsThatMayBeFilledCount(t *testing.T) {
	s := startServer(t, WithServerHooks(Options{SlabBytes: 1 << 20, MemoryLimit: 300 << 20}, neverResident))
	rings := s.budgets.rings.Open("a", nil)
	defer rings.Close()
	if err := rings.Take(150 << 20); err != nil {
		t.Fatal(err)
	}
	if s.observe(250 << 20); s.CheckMemory() != nil {
		t.Errorf("250 MiB and 150 MiB of rings, of 400 MiB: %v", s.CheckMemory())
	}
	if s.observe(251 << 20); !errors.Is(s.CheckMemory(), model.ErrBusy) {
		t.Errorf("251 MiB and 150 MiB of rings, of 400 MiB: %v", s.CheckMemory())
	}
}

// TestPartsOfMemory: with 16 GiB, of which 12 are the limit, 10,000 clients fit, and half
// of the limit is left to trees.
func TestPartsOfMemory(t *testing.T) {
	const limit, clients = 12 << 30, 10_000
	b := newBudgets(limit)
	if n := b.rings.Use().Limit / fastmsg.RingsBytes(fastmsg.DefaultRingBytes, fastmsg.DefaultRingBytes); n < clients {
		t.Errorf("rings of %d clients", n)
	}
	if n := limit / limits.ShmPart / restingSHM; n < clients {
		t.Errorf("%d connections of shm", n)
	}
	if n := limit / limits.StreamsPart / connBytes; n < clients {
		t.Errorf("%d connections of the port", n)
	}
	const grpc = 1./limits.CallsPart + 1./limits.UploadsPart
	if sum := 1./limits.AnswersPart + 1./limits.UnsentPart + grpc + 1./limits.StreamsPart + 1./limits.ShmPart; sum > 0.5 {
		t.Errorf("clients may hold %.2f of the limit", sum)
	}
}

// TestCreateByDisconnectedClient: a client that disconnects before its collection is made
// leaves nothing behind. No worker makes or drops a collection: it would wait for a
// goroutine that waits for the disk.
func TestCreateByDisconnectedClient(t *testing.T) {
	s := startFeatures(t, Options{})
	options, err := wire.AppendFeaturesOptions(nil, model.FeaturesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for kind, payload := range map[fastmsg.Kind][]byte{
		wire.KindCreateFeatures: append(options, "another"...),
		wire.KindCreateKept:     []byte("another"),
		wire.KindCreate:         []byte("another"),
		wire.KindCreateRecords:  append(wire.AppendRecordsOptions(nil, model.RecordsOptions{}), "another"...),
		wire.KindDrop:           []byte("another"),
	} {
		v := service{s: s, transport: model.TransportSoft}
		if _, _, w := v.process(new(peer), kind, payload); w == nil {
			t.Fatalf("kind %d was answered at once", kind)
		}
		if u := s.clientColls.Use(); u.Sources != 0 {
			t.Errorf("kind %d: an account is open before the collection is made: %+v", kind, u)
		}
	}
}
