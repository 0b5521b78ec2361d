package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/fault"
	failures "github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/whole"
)

// A secondary forwards calls to the primary of its group, over streams between members
// (package door): messages of answers as their bytes, metadata and statuses as they are. The
// primary checks the key. Health and reflection are the member's own.
//
//	no stream to the primary         another attempt, for door.DefaultPatience; then UNAVAILABLE
//	the primary is lost meanwhile    UNAVAILABLE of calls that only read; of others the outcome
//	                                 is unknown

// forwarder sends calls to the primary.
type forwarder struct {
	*door.Group
	groups *whole.Groups // nil: the group has the whole store
	calls  *gate

	mu sync.Mutex
	cc *grpc.ClientConn // to the primary, at
	at string
}

// frame is a message as its bytes.
type frame struct{ b []byte }

func (f *frame) buffers() mem.BufferSlice { return mem.BufferSlice{mem.SliceBuffer(f.b)} }

// relay is the codec of calls to the primary.
type relay struct{ encoding.CodecV2 }

func (r relay) Marshal(m any) (mem.BufferSlice, error) {
	if f, ok := m.(*frame); ok {
		return f.buffers(), nil
	}
	return r.CodecV2.Marshal(m)
}

func (relay) Unmarshal(data mem.BufferSlice, m any) error {
	m.(*frame).b = data.Materialize() // Nothing else is received.
	return nil
}

// ofAny reports whether a call is for this member, whatever it is: it only reads, and says so.
// Of several groups all primaries are asked.
func (f *forwarder) ofAny(ctx context.Context, method string) bool {
	if isFree(method) {
		return true
	}
	if f.groups.Several() {
		return false
	}
	md, _ := metadata.FromIncomingContext(ctx)
	any := md.Get(door.ReadFrom)
	return len(any) > 0 && any[0] == door.ReadAny && reads(method)
}

// whole refuses statistics of boxes if several groups have the store together: this one would
// answer about its part.
func (f *forwarder) whole(method string) error {
	if method == catfishv1.CatfishService_Stats_FullMethodName && f.groups.Several() {
		return statusOf("", fmt.Errorf("%w: statistics of boxes over gRPC", fault.ErrSeveralGroups))
	}
	return nil
}

// reads reports whether a call changes nothing.
func reads(method string) bool { return roles[method] == access.Read }

// to finds the primary, and connects to it. ctx ends when it is not the primary any more. A
// nil conn: this member is the primary.
func (f *forwarder) to(ctx context.Context, until time.Time) (cc *grpc.ClientConn, of context.Context, end func(), err error) {
	for {
		addr, here, err := f.Find(ctx, until)
		if here || err != nil {
			return nil, nil, nil, err
		}
		if cc, err = f.conn(addr); err != nil {
			return nil, nil, nil, err
		}
		if f.connected(ctx, cc) {
			of, end = f.While(ctx, addr)
			return cc, outgoing(of), end, nil
		}
		if err := door.Wait(ctx, until); err != nil {
			return nil, nil, nil, err
		}
	}
}

// connectWait is how long an attempt to connect lasts before the group is looked at again.
const connectWait = 200 * time.Millisecond

func (f *forwarder) connected(ctx context.Context, cc *grpc.ClientConn) bool {
	ctx, cancel := context.WithTimeout(ctx, connectWait)
	defer cancel()
	for {
		switch s := cc.GetState(); s {
		case connectivity.Ready:
			return true
		case connectivity.TransientFailure:
			cc.ResetConnectBackoff() // The next attempt is soon.
			return false
		default:
			cc.Connect()
			if !cc.WaitForStateChange(ctx, s) {
				return false
			}
		}
	}
}

// conn is the connection to a member. That to the one before ends, after the answers to the
// calls in flight.
func (f *forwarder) conn(addr string) (*grpc.ClientConn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cc != nil && f.at == addr {
		return f.cc, nil
	}
	cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return f.Dial(ctx, addr) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(relay{encoding.GetCodecV2(proto.Name)}), grpc.MaxCallRecvMsgSize(1<<31-1), grpc.MaxCallSendMsgSize(1<<31-1)))
	if err != nil {
		return nil, err
	}
	if old := f.cc; old != nil {
		time.AfterFunc(2*door.Linger, func() { _ = old.Close() })
	}
	f.cc, f.at = cc, addr
	return cc, nil
}

func (f *forwarder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cc != nil {
		_ = f.cc.Close()
	}
}

// outgoing gives a call the metadata with which it came, but for gRPC's own.
func outgoing(ctx context.Context) context.Context {
	in, _ := metadata.FromIncomingContext(ctx)
	out := metadata.MD{}
	for k, v := range in {
		switch {
		case strings.HasPrefix(k, ":"), strings.HasPrefix(k, "grpc-"), k == "content-type", k == "user-agent", k == "te":
		default:
			out[k] = v
		}
	}
	return metadata.NewOutgoingContext(ctx, out)
}

// relayed is the status of a call that the primary has ended with an error, or lost.
func relayed(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	st, _ := status.FromError(err)
	moved := errors.Is(context.Cause(ctx), door.ErrMoved)
	switch {
	case len(st.Details()) > 0 || st.Code() != codes.Unavailable && !moved:
		return err // the primary's
	case errors.Is(context.Cause(ctx), errStopping):
		return statusOf("", errStopping)
	case ctx.Err() != nil && !moved:
		return err // The client has hung up, or its time has ended.
	case reads(method):
		return statusOf("", fmt.Errorf("%w any more, the member that was asked: %s", fault.ErrNotPrimary, st.Message()))
	}
	return statusOf("", fmt.Errorf("%w: the primary was lost before it answered: %s", fault.ErrUnknownOutcome, st.Message()))
}

// unary is the interceptor of calls with one message each way.
func (f *forwarder) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := f.whole(info.FullMethod); err != nil {
		return nil, err
	}
	if f.ofAny(ctx, info.FullMethod) {
		return next(ctx, req)
	}
	for until := f.Until(); ; {
		cc, of, end, err := f.to(ctx, until)
		if err != nil {
			return nil, statusOf("", err)
		}
		if cc == nil {
			read := f.calls.readingHere(info.FullMethod)
			answer, err := next(ctx, req)
			if old := read.Err(); err == nil && old != nil {
				return nil, statusOf("", old)
			}
			return answer, err
		}
		answer, err := invoke(ctx, of, cc, info.FullMethod, req)
		err = relayed(of, info.FullMethod, err)
		end()
		if !refused(err) {
			return answer, err
		}
		if over := door.Wait(ctx, until); over != nil {
			return nil, err
		}
	}
}

// invoke makes a call of the primary. ctx is of the client's call.
func invoke(ctx, of context.Context, cc *grpc.ClientConn, method string, req any) (*frame, error) {
	var answer frame
	var header, trailer metadata.MD
	err := cc.Invoke(of, method, req, &answer, grpc.Header(&header), grpc.Trailer(&trailer))
	_ = grpc.SetHeader(ctx, header) // They fail if the call has ended.
	_ = grpc.SetTrailer(ctx, trailer)
	return &answer, err
}

// refused reports whether a call ended with NOT_PRIMARY: nothing was done, and the next
// primary may be asked.
func refused(err error) bool {
	st, _ := status.FromError(err)
	for _, d := range st.Details() {
		if i, ok := d.(*errdetails.ErrorInfo); ok && i.GetReason() == failures.ReasonNotPrimary {
			return true
		}
	}
	return false
}

// stream is the interceptor of all other calls.
func (f *forwarder) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := f.whole(info.FullMethod); err != nil {
		return err
	}
	if f.ofAny(ss.Context(), info.FullMethod) {
		return next(srv, ss)
	}
	cc, of, end, err := f.to(ss.Context(), f.Until())
	if err != nil {
		return statusOf("", err)
	}
	if cc == nil {
		if c, ok := ss.(*callStream); ok {
			c.read = f.calls.readingHere(info.FullMethod)
		}
		return next(srv, ss)
	}
	defer end()
	cs, err := cc.NewStream(of, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, info.FullMethod)
	if err != nil {
		return relayed(of, info.FullMethod, err)
	}
	if info.IsClientStream {
		go func() {
			if forwardAll(ss, cs) != nil {
				end() // The client is lost.
			}
		}()
	} else if err := forwardOne(ss, cs); err != nil {
		return err
	}
	for first := true; ; first = false {
		var m frame
		if err = cs.RecvMsg(&m); err != nil {
			break
		}
		if h, e := cs.Header(); first && e == nil {
			_ = ss.SetHeader(h)
		}
		if err := ss.SendMsg(&m); err != nil {
			return err
		}
	}
	ss.SetTrailer(cs.Trailer())
	if errors.Is(err, io.EOF) {
		return nil
	}
	return relayed(of, info.FullMethod, err)
}

// forwardOne sends the request of a call that has one.
func forwardOne(ss grpc.ServerStream, cs grpc.ClientStream) error {
	var m frame
	if err := ss.RecvMsg(&m); err != nil {
		return err
	}
	if err := cs.SendMsg(&m); err != nil && !errors.Is(err, io.EOF) { // Its status comes with the answer.
		return err
	}
	return cs.CloseSend()
}

// forwardAll sends all messages of a client.
func forwardAll(ss grpc.ServerStream, cs grpc.ClientStream) error {
	for {
		var m frame
		err := ss.RecvMsg(&m)
		if errors.Is(err, io.EOF) {
			return cs.CloseSend()
		}
		if err != nil {
			return err
		}
		if err := cs.SendMsg(&m); err != nil {
			return nil // Its status comes with the answer.
		}
	}
}

// refuse refuses calls that another member has forwarded to one that is not the primary.
func (f *forwarder) refuse(ctx context.Context, method string) error {
	if isFree(method) {
		return nil
	}
	if err := f.Await(ctx); err != nil {
		return statusOf("", err)
	}
	return nil
}

func (f *forwarder) refuseUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := f.refuse(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (f *forwarder) refuseStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := f.refuse(ss.Context(), info.FullMethod); err != nil {
		return err
	}
	return next(srv, ss)
}
