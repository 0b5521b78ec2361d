package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/catfish-index/catfish/api"
	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
)

// The echo is a separate service of plain grpc-go: a stream of answers like
// Search's, with generated messages, without an option, interceptor or codec of
// package api.
const (
	echoService = "echo"
	echoStream  = "Echo"
	echoMethod  = "/" + echoService + "/" + echoStream
)

// grpcServer serves a Server's features by gRPC, and an echo beside it.
type grpcServer struct {
	l, beside net.Listener
	g         *api.Server
	plain     *grpc.Server
	echo      atomic.Pointer[catfishv1.FeatureServiceSearchResponse]
	done      sync.WaitGroup
}

func serveGRPC(srv *catfish.Server) (*grpcServer, error) {
	st, err := srv.Store()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	beside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &grpcServer{l: l, beside: beside, plain: grpc.NewServer()}
	s.echo.Store(&catfishv1.FeatureServiceSearchResponse{})
	s.g = api.NewServer(api.ServerBackend(srv), api.WithFeatures(st))
	s.plain.RegisterService(&grpc.ServiceDesc{
		ServiceName: echoService, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: echoStream, Handler: s.answer, ServerStreams: true}},
	}, s)
	s.done.Go(func() { _ = s.g.Serve(l) })          // Ends with stop.
	s.done.Go(func() { _ = s.plain.Serve(beside) }) // Ends with stop too.
	return s, nil
}

func (s *grpcServer) stop() {
	s.g.Stop()
	s.plain.Stop()
	s.done.Wait()
}

// answer is the echo: the same messages as a search, one for one, without any
// work between them.
func (s *grpcServer) answer(_ any, stream grpc.ServerStream) error {
	var m catfishv1.FeatureServiceSearchRequest
	if err := stream.RecvMsg(&m); err != nil {
		return err
	}
	return stream.SendMsg(s.echo.Load())
}

// tries is how many searches are tried for the median size.
const tries = 501

// teach makes the echo return the median answer by size of tries searches.
func (s *grpcServer) teach(ctx context.Context, qs []Query) error {
	c, err := grpc.NewClient(s.l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	places := catfishv1.NewFeatureServiceClient(c)
	var answers []*catfishv1.FeatureServiceSearchResponse
	for i := range min(len(qs), tries) {
		stream, err := places.Search(ctx, searchRequest(&qs[i]))
		for err == nil {
			var m *catfishv1.FeatureServiceSearchResponse
			if m, err = stream.Recv(); err == nil {
				answers = append(answers, m)
			}
		}
		if err := unlessEnd(err); err != nil {
			return err
		}
	}
	if len(answers) == 0 {
		return fmt.Errorf("%w: no search found a feature", harness.ErrConfig)
	}
	slices.SortFunc(answers, func(a, b *catfishv1.FeatureServiceSearchResponse) int {
		return cmp.Compare(proto.Size(a), proto.Size(b))
	})
	s.echo.Store(answers[len(answers)/2])
	return nil
}

// openGRPC connects for the ways grpc and echo.
func openGRPC(job LoadJob) (*steps, error) {
	qs, err := readQueries(job.Queries)
	if err != nil {
		return nil, err
	}
	var conns []*grpc.ClientConn
	s := &steps{close: func() {
		for _, c := range conns {
			_ = c.Close() // Everything is measured already.
		}
	}}
	for range job.Clients {
		c, err := grpc.NewClient(job.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			s.close()
			return nil, err
		}
		conns = append(conns, c)
		next := grpcStep(job, c, qs)
		if next == nil {
			s.close()
			return nil, fmt.Errorf("%w: no work %q by %s", harness.ErrConfig, job.Work, job.Way)
		}
		for range job.InFlight {
			s.all = append(s.all, next)
		}
	}
	return s, nil
}

func grpcStep(job LoadJob, c *grpc.ClientConn, qs []Query) step {
	places := catfishv1.NewFeatureServiceClient(c)
	switch {
	case job.Way == Echo:
		return func(ctx context.Context, rng *rand.Rand) (done, error) {
			n, err := echo(ctx, c, searchRequest(&qs[rng.IntN(len(qs))]))
			return done{ops: 1, features: n, wanted: 1}, err
		}
	case job.Work == Nearest:
		return func(ctx context.Context, rng *rand.Rand) (d done, err error) {
			q := &qs[rng.IntN(len(qs))]
			var at ascending
			stream, err := places.Nearest(ctx, &catfishv1.FeatureServiceNearestRequest{
				Collection: collection, Point: &catfishv1.Point{X: q.Box[0], Y: q.Box[1]}, K: nearestK, Filter: nearestFilter,
			})
			for err == nil {
				var m *catfishv1.FeatureServiceNearestResponse
				if m, err = stream.Recv(); err == nil {
					for _, f := range m.GetFeatures() {
						at.next(f.GetDistance())
					}
				}
			}
			return at.judge(q), unlessEnd(err)
		}
	case isSearch(job.Work):
		return func(ctx context.Context, rng *rand.Rand) (d done, err error) {
			q := &qs[rng.IntN(len(qs))]
			stream, err := places.Search(ctx, searchRequest(q))
			n := 0
			for err == nil {
				var m *catfishv1.FeatureServiceSearchResponse
				if m, err = stream.Recv(); err == nil {
					n += len(m.GetFeatures())
				}
			}
			return q.judge(n), unlessEnd(err)
		}
	}
	return nil
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func searchRequest(q *Query) *catfishv1.FeatureServiceSearchRequest {
	b := q.Box
	return &catfishv1.FeatureServiceSearchRequest{Collection: collection, Query: &catfishv1.Query{Area: &catfishv1.Area{
		Shape: &catfishv1.Area_Box{Box: &catfishv1.Box{West: b[0], South: b[1], East: b[2], North: b[3]}},
	}}}
}

// echo sends a request, and takes the answer.
func echo(ctx context.Context, c *grpc.ClientConn, req *catfishv1.FeatureServiceSearchRequest) (features int, err error) {
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, echoMethod)
	if err == nil {
		err = stream.SendMsg(req)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	for err == nil {
		m := new(catfishv1.FeatureServiceSearchResponse)
		if err = stream.RecvMsg(m); err == nil {
			features += len(m.GetFeatures())
		}
	}
	return features, unlessEnd(err)
}
