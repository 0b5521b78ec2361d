package api

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
)

// fromListener is a listener whose connections all come from one host.
type fromListener struct {
	net.Listener
	host string
}

func (l fromListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return fromConn{c, l.host}, err
}

type fromConn struct {
	net.Conn
	host string
}

func (c fromConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1}
}

// dialFrom connects to the server of c as from another host.
func (c client) dialFrom(t *testing.T, host string) client {
	t.Helper()
	l := bufconn.Listen(64 << 10)
	served := make(chan error, 1)
	go func() { served <- c.server.Serve(fromListener{l, host}) }()
	conn, err := grpc.NewClient("passthrough:bufconn",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return l.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		l.Close()
		<-served
	})
	return client{CatfishServiceClient: catfishv1.NewCatfishServiceClient(conn),
		conn: conn, server: c.server}
}

// use returns the budget of the server with this name.
func (c client) use(t *testing.T, name string) catfish.BudgetStats {
	t.Helper()
	for _, u := range c.server.Budgets() {
		if u.Name == name {
			return u
		}
	}
	t.Fatalf("no budget %q", name)
	return catfish.BudgetStats{}
}

const (
	ofCalls   = "bytes of gRPC calls"
	ofUploads = "bytes of gRPC uploads"
)

// TestSlowReaderIsEnded: a client takes one batch of its answer and no more.
// Other clients are served meanwhile. After the idle timeout the call ends with
// an error that says so, and holds nothing.
func TestSlowReaderIsEnded(t *testing.T) {
	items := manyItems()
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t, items...)}.alone())
		begun := time.Now()
		slow, err := readOneBatch(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// A block of the answer that was sent is given back: 32 KB of 4 MB.
		if u := c.use(t, ofCalls); u.Used < 39*int64(len(items)) {
			t.Fatalf("%d bytes are held for %d objects", u.Used, len(items))
		}
		if _, err := c.Count(t.Context(), &catfishv1.CountRequest{Query: pbRect(world)}); err != nil {
			t.Fatalf("another call: %v", err)
		}
		if time.Since(begun) != 0 {
			t.Fatal("the other call waited")
		}

		time.Sleep(DefaultIdleTimeout + time.Second)
		synctest.Wait()
		if u := c.use(t, ofCalls); u.Used != 0 {
			t.Fatalf("held after the idle timeout: %+v", u)
		}
		for err = nil; err == nil; _, err = slow.Recv() {
		}
		if d := detailsOf(err); d.code != codes.Aborted || d.reason != ReasonIdle {
			t.Fatalf("the slow reader got %v: %+v", err, d)
		}
	})
}

// TestReaderWithPauses: a client that takes a message now and then keeps its
// call, however long the whole answer takes.
func TestReaderWithPauses(t *testing.T) {
	items := manyItems()
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t, items...)}.alone())
		slow, err := readOneBatch(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		n, pauses, paused := BatchItems, 0, 0
		for {
			m, err := slow.Recv()
			if err != nil {
				break
			}
			// Reading 64 KB lets the server send another message.
			if n += len(m.GetItems()); n-paused >= 20*BatchItems && pauses < 10 {
				pauses, paused = pauses+1, n
				time.Sleep(DefaultIdleTimeout - time.Second)
			}
		}
		if n != len(items) || pauses != 10 {
			t.Fatalf("%d objects of %d after %d pauses", n, len(items), pauses)
		}
	})
}

// TestIdleUploadIsEnded: an upload that sends nothing more for the idle
// timeout ends with an error, stores nothing and holds nothing.
func TestIdleUploadIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		col := treeOf(t)
		c := startBufconn(t, trees{"default": col}.alone())
		idle, err := c.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // Each message begins a new timeout.
			time.Sleep(DefaultIdleTimeout - time.Second)
			if err := idle.Send(loadRequest(manyItems()[:100])); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if u := c.use(t, ofUploads); u.Used == 0 {
			t.Fatal("an upload in progress holds nothing")
		}
		if res, err := c.load(t.Context(), "", manyItems()[:10], 10); err != nil || res.GetLoaded() != 10 {
			t.Fatalf("a second upload: %v, %v", res, err)
		}
		time.Sleep(DefaultIdleTimeout)
		synctest.Wait()
		if u := c.use(t, ofUploads); u.Used != 0 {
			t.Fatalf("held after the idle timeout: %+v", u)
		}
		_, err = idle.CloseAndRecv()
		if d := detailsOf(err); d.code != codes.Aborted || d.reason != ReasonIdle ||
			d.load.GetReceived() != 300 || d.load.GetLoaded() != 0 || col.Len() != 10 {
			t.Fatalf("%v: %+v; %d stored", err, d, col.Len())
		}
	})
}

// TestSilentCallIsEnded: headers without a message count from the beginning,
// and not for ever.
func TestSilentCallIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t)}.alone())
		for _, method := range []string{
			catfishv1.CatfishService_Insert_FullMethodName,
			catfishv1.CatfishService_Search_FullMethodName,
		} {
			silent, err := c.conn.NewStream(t.Context(),
				&grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if u := c.use(t, ofCalls); u.Used != callBytes {
				t.Fatalf("%s: a silent call counts %d bytes", method, u.Used)
			}
			time.Sleep(2 * slowRequest)
			synctest.Wait()
			if u := c.use(t, ofCalls); u.Used != callBytes+received*DefaultMaxMessageBytes {
				t.Fatalf("%s: a slow request counts %d bytes", method, u.Used)
			}
			time.Sleep(DefaultIdleTimeout)
			synctest.Wait()
			if u := c.use(t, ofCalls); u.Used != 0 {
				t.Fatalf("%s: held after the idle timeout: %+v", method, u)
			}
			err = silent.RecvMsg(&catfishv1.InsertResponse{})
			if status.Code(err) == codes.OK {
				t.Fatalf("%s: answered", method)
			}
			if d := detailsOf(err); method == catfishv1.CatfishService_Search_FullMethodName &&
				(d.code != codes.Aborted || d.reason != ReasonIdle) {
				t.Fatalf("%s: ended by %v: %+v", method, err, d)
			}
		}
	})
}

// TestShortIdleTimeout: an idle timeout that ends before a request counts as slow.
func TestShortIdleTimeout(t *testing.T) {
	const idle = slowRequest / 2
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t)}.alone(), WithIdleTimeout(idle))
		begun := time.Now()
		silent, err := c.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, catfishv1.CatfishService_Search_FullMethodName)
		if err == nil {
			err = silent.RecvMsg(&catfishv1.SearchResponse{})
		}
		if d := detailsOf(err); d.code != codes.Aborted || d.reason != ReasonIdle || time.Since(begun) != idle {
			t.Errorf("after %v: %v: %+v", time.Since(begun), err, d)
		}
	})
}

// TestSlowRequest: a request that arrives late is answered, and then no longer
// counts as the largest possible one. One slow request too many is refused.
func TestSlowRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t, manyItems()...)}.alone(),
			WithMaxAnswerBytes(2*(received*DefaultMaxMessageBytes+20*callBytes)))
		open := func() grpc.ClientStream {
			s, err := c.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true},
				catfishv1.CatfishService_Search_FullMethodName)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := open()
		time.Sleep(2 * slowRequest)
		second := open()
		time.Sleep(2 * slowRequest)
		err := second.RecvMsg(&catfishv1.SearchResponse{})
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy {
			t.Errorf("a second slow request: %v: %+v", err, d)
		}
		if err := first.SendMsg(&catfishv1.SearchRequest{Query: pbRect(world), Limit: 1000}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if u := c.use(t, ofCalls); u.Used > 4*callBytes {
			t.Errorf("%d bytes are held after the request has arrived", u.Used)
		}
		for err = nil; err == nil; err = first.RecvMsg(&catfishv1.SearchResponse{}) {
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// TestCallsOfOneSource: the calls of one host fill its share, by any
// connections, and those of another host are served.
func TestCallsOfOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startBufconn(t, trees{"default": treeOf(t)}.alone(), WithMaxAnswerBytes(8*callBytes))
		flood := []client{c.dialFrom(t, "10.0.0.7"), c.dialFrom(t, "10.0.0.7")}
		for i := range 4 {
			if _, err := flood[i%2].Load(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		_, err := flood[0].Stats(t.Context(), &catfishv1.StatsRequest{})
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonBusy ||
			!d.retry || d.meta[MetadataLimit] != "65536" {
			t.Fatalf("a fifth call: %v: %+v", err, d)
		}
		if _, err := c.dialFrom(t, "10.0.0.8").Stats(t.Context(), &catfishv1.StatsRequest{}); err != nil {
			t.Fatalf("another host: %v", err)
		}
		if u := c.use(t, ofCalls); u.Used != 4*callBytes || u.Refused != 1 || u.Cut != 0 {
			t.Fatalf("%+v", u)
		}
	})
}

// TestLargestAnswerIsCut: when the total budget is exhausted, the largest
// answer of the host that holds most ends, with advice, and a client that asks
// for less is served.
func TestLargestAnswerIsCut(t *testing.T) {
	items := manyItems()
	synctest.Test(t, func(t *testing.T) {
		// Three hosts may hold an answer each, and two of them fill it.
		c := startBufconn(t, trees{"default": treeOf(t, items...), "few": treeOf(t, items[:40_000]...)}.alone(),
			WithMaxAnswerBytes(9_000_000))
		var slow []searchStream
		for _, host := range []string{"10.0.0.1", "10.0.0.2"} {
			s, err := readOneBatch(t.Context(), c.dialFrom(t, host))
			if err != nil {
				t.Fatal(err)
			}
			slow = append(slow, s)
		}
		synctest.Wait()
		got, err := c.dialFrom(t, "10.0.0.3").search(t.Context(),
			&catfishv1.SearchRequest{Collection: "few", Query: pbRect(world)})
		if err != nil || len(got) != 40_000 {
			t.Fatalf("a smaller answer: %d objects, %v", len(got), err)
		}
		if u := c.use(t, ofCalls); u.Cut != 1 || u.Used > 5_000_000 {
			t.Fatalf("%+v", u)
		}
		cut := 0
		for _, s := range slow {
			var err error
			n := BatchItems
			for m := (*catfishv1.SearchResponse)(nil); err == nil; m, err = s.Recv() {
				n += len(m.GetItems())
			}
			if n == len(items) {
				continue
			}
			cut++
			if d := detailsOf(err); d.code != codes.ResourceExhausted ||
				d.reason != ReasonBusy || !d.retry {
				t.Errorf("%v: %+v", err, d)
			}
		}
		if cut != 1 {
			t.Errorf("%d answers were cut", cut)
		}
	})
}

// TestUploadIsCut: one host's uploads fill its share, and its next one is
// refused. When another host needs the room, one of them is cut and stores
// nothing; the other one continues.
func TestUploadIsCut(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(15, 16)), 400)
	synctest.Test(t, func(t *testing.T) {
		col := treeOf(t)
		// Each upload begins with 35 KB, for a message.
		c := startBufconn(t, trees{"default": col}.alone(),
			WithMaxMessageBytes(1<<10), WithMaxLoadBytes(128<<10))
		host := c.dialFrom(t, "10.0.0.1")
		var idle []loadClient
		for range 2 {
			s, err := host.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(loadRequest(items[:15])); err != nil {
				t.Fatal(err)
			}
			idle = append(idle, s)
		}
		synctest.Wait()
		_, err := host.load(t.Context(), "", items[:15], 15)
		if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonLoadBusy || !d.retry {
			t.Fatalf("a third upload: %v: %+v", err, d)
		}
		if res, err := c.dialFrom(t, "10.0.0.2").load(t.Context(), "", items, 15); err != nil ||
			res.GetLoaded() != 400 {
			t.Fatalf("another host: %v, %v", res, err)
		}
		stored := 0
		for _, s := range idle {
			res, err := s.CloseAndRecv()
			if err == nil {
				stored += int(res.GetLoaded())
				continue
			}
			if d := detailsOf(err); d.code != codes.ResourceExhausted || d.reason != ReasonLoadBusy ||
				!d.retry || d.load.GetReceived() != 15 || d.load.GetLoaded() != 0 {
				t.Errorf("%v: %+v", err, d)
			}
		}
		if stored != 15 || col.Len() != 415 {
			t.Errorf("%d objects were stored after the cut, %d in all", stored, col.Len())
		}
		if u := c.use(t, ofUploads); u.Used != 0 || u.Cut != 1 || u.Refused != 1 {
			t.Errorf("%+v", u)
		}
	})
}

type loadClient = grpc.ClientStreamingClient[catfishv1.LoadRequest, catfishv1.LoadResponse]

// Headers are bounded before a call is: those of a usual call pass.
func TestHeadersAreBounded(t *testing.T) {
	c := startBufconn(t, trees{"default": treeOf(t)}.alone())
	for bytes, want := range map[int]codes.Code{maxHeaderBytes / 2: codes.OK, 2 * maxHeaderBytes: codes.Internal} {
		ctx := metadata.AppendToOutgoingContext(testContext(t), "large", strings.Repeat("x", bytes))
		_, err := c.Count(ctx, &catfishv1.CountRequest{Query: pbRect(world)}, grpc.WaitForReady(true))
		if status.Code(err) != want {
			t.Errorf("headers of %d bytes: %v, want %v", bytes, err, want)
		}
	}
}
