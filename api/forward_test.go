package api

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/store"
)

// doorOf is a member of a group with a store of its own.
type doorOf struct {
	featureClient
	serves  atomic.Bool
	primary atomic.Pointer[string]
}

func newDoor(t *testing.T) *doorOf {
	t.Helper()
	d := &doorOf{}
	d.featureClient = startFeatures(t, store.Options{}, WithGroup(&door.Group{
		Serves: d.serves.Load, Patience: time.Second, Primary: func() string {
			if p := d.primary.Load(); p != nil {
				return *p
			}
			return ""
		}, Connect: func(ctx context.Context, addr string) (net.Conn, error) {
			var n net.Dialer
			return n.DialContext(ctx, "tcp", addr)
		},
	}), WithWatchProgress(time.Millisecond))
	return d
}

// members returns where the server takes calls of other members.
func (d *doorOf) members(t *testing.T) *string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.server.ServeMembers(l) }()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	addr := l.Addr().String()
	return &addr
}

func reasonOf(err error) (codes.Code, string) {
	st, _ := status.FromError(err)
	for _, d := range st.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok {
			return st.Code(), i.GetReason()
		}
	}
	return st.Code(), ""
}

// Calls at a secondary are carried out by the primary: with one message each way, uploads,
// answers of many messages, watches, and errors with their details.
func TestForward(t *testing.T) {
	p, s := newDoor(t), newDoor(t)
	p.serves.Store(true)
	s.primary.Store(p.members(t))
	ctx := testContext(t)
	stream, _ := s.watch(ctx, t, &catfishv1.FeatureServiceWatchRequest{Collection: "places"})
	first := s.put(t, pbPoint("a", 1, 2, `{"n":1}`))
	for {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e := m.GetEvents(); len(e) > 0 {
			if e[0].GetFeature().GetId() != "a" {
				t.Errorf("an event of %v", e[0])
			}
			break
		}
	}
	load := must[grpc.ClientStreamingClient[catfishv1.FeatureServiceLoadRequest, catfishv1.FeatureServiceLoadResponse]](t)(s.Load(ctx))
	for i := range 3 {
		err := load.Send(&catfishv1.FeatureServiceLoadRequest{Collection: "places", Features: []*catfishv1.Feature{pbPoint("b", float64(i), 2, ""), pbPoint(string(rune('c'+i)), 1, 2, "")}})
		if err != nil {
			t.Fatal(err)
		}
	}
	must[*catfishv1.FeatureServiceLoadResponse](t)(load.CloseAndRecv())
	found, err := s.find(ctx, &catfishv1.FeatureServiceSearchRequest{})
	if err != nil || len(found.ids) != 5 || p.store.Revision() < first+6 {
		t.Errorf("found %v, %v, at revision %d", found.ids, err, p.store.Revision())
	}
	_, err = s.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint("a", 1, 2, ""), IfAbsent: true})
	if code, reason := reasonOf(err); code != codes.AlreadyExists || reason != ReasonFeatureExists {
		t.Errorf("a put of what is there: %v", err)
	}
	any := metadata.AppendToOutgoingContext(ctx, door.ReadFrom, door.ReadAny)
	_, err = s.Get(any, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "a"})
	if code, reason := reasonOf(err); code != codes.NotFound || reason != ReasonNoFeature {
		t.Errorf("a read of this member: %v", err)
	}
	if _, err := s.Delete(any, &catfishv1.FeatureServiceDeleteRequest{Collection: "places", Id: "a"}); err != nil {
		t.Errorf("a write: %v", err)
	}
	if _, err := healthpb.NewHealthClient(s.conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

// Without a primary calls are refused, and may be made again. If the primary is lost after it
// has got a call that may write, its outcome is unknown.
func TestForwardWithoutAPrimary(t *testing.T) {
	s, p := newDoor(t), newDoor(t)
	ctx := testContext(t)
	put := &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint("a", 1, 2, "")}
	get := &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: "a"}
	want := func(what string, err error, code codes.Code, reason string) {
		t.Helper()
		if c, r := reasonOf(err); c != code || r != reason {
			t.Errorf("%s: %v, want %v %s", what, err, code, reason)
		}
	}
	_, err := s.Put(ctx, put)
	want("no primary", err, codes.Unavailable, ReasonNotPrimary)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	s.primary.Store(&gone)
	_, err = s.Get(ctx, get)
	want("a primary that does not listen", err, codes.Unavailable, ReasonNotPrimary)
	of := p.members(t) // It serves nothing yet: it is no primary.
	s.primary.Store(of)
	_, err = s.Put(ctx, put)
	want("a member that is no primary", err, codes.Unavailable, ReasonNotPrimary)

	hang := make(chan struct{})
	lost, got := hangs(t, hang)
	for what, call := range map[string]func() error{
		"a put": func() error { _, err := s.Put(ctx, put); return err },
		"a get": func() error { _, err := s.Get(ctx, get); return err },
	} {
		s.primary.Store(&lost)
		go func() {
			<-got
			s.primary.Store(of)
		}()
		if err := call(); what == "a put" {
			want(what, err, codes.Unknown, ReasonUnknownOutcome)
		} else {
			want(what, err, codes.Unavailable, ReasonNotPrimary)
		}
	}
	close(hang)
	s.serves.Store(true)
	if _, err := s.Put(ctx, put); err != nil {
		t.Errorf("at the new primary itself: %v", err)
	}
}

// hangs is a member that takes calls, says so, and does not answer them.
func hangs(t *testing.T, hang <-chan struct{}) (string, <-chan struct{}) {
	t.Helper()
	got := make(chan struct{}, 1)
	srv := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		got <- struct{}{}
		<-hang
		return nil
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		<-ended
	})
	return l.Addr().String(), got
}
