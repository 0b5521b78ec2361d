package api

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

// echo answers any call with its request.
func echo(_ any, stream grpc.ServerStream) error {
	var m catfishv1.FeatureServiceSearchResponse
	if err := stream.RecvMsg(&m); err != nil {
		return err
	}
	return stream.SendMsg(&m)
}

// startEcho serves echo by plain grpc-go, without this package's part.
func startEcho(b *testing.B) *grpc.ClientConn {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(echo))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		s.Stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return conn
}

// inFlight calls f again and again, several at a time, and
// reports how many features it has counted.
func inFlight(b *testing.B, f func(rng *rand.Rand) (int, error)) {
	b.Helper()
	var sum, seed atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		rng := rand.New(rand.NewPCG(9, uint64(seed.Add(1))))
		for pb.Next() {
			n, err := f(rng)
			if err != nil {
				b.Error(err)
				return
			}
			sum.Add(int64(n))
		}
	})
	b.ReportMetric(float64(sum.Load())/b.Elapsed().Seconds(), "features/s")
}

// BenchmarkFeatures measures whole calls over loopback, client included. It
// also measures an echo of the answer to a search for one feature, which is the
// least that gRPC costs.
func BenchmarkFeatures(b *testing.B) {
	st := openStore(b, store.Options{})
	c := withFeatures(startLoopback(b, trees{}.alone(), WithFeatures(st)), st)
	const n = 100_000
	rng := rand.New(rand.NewPCG(1, 2))
	reqs := []*catfishv1.FeatureServiceLoadRequest{{Collection: "places"}}
	for i := range n {
		if i%1000 == 999 {
			reqs = append(reqs, &catfishv1.FeatureServiceLoadRequest{})
		}
		m := reqs[len(reqs)-1]
		m.Features = append(m.Features, pbPoint(fmt.Sprint("node/", i), rng.Float64(), rng.Float64(),
			fmt.Sprintf(`{"amenity":"cafe","name":"Café number %d","seats":%d,"opening_hours":"Mo-Su 08:00-20:00"}`, i, i%40)))
	}
	if _, err := c.loadFeatures(b.Context(), reqs...); err != nil {
		b.Fatal(err)
	}
	recv := func(stream grpc.ClientStream, err error) (found int, _ error) {
		for err == nil {
			var m catfishv1.FeatureServiceSearchResponse
			if err = stream.RecvMsg(&m); err == nil {
				found += len(m.GetFeatures())
			}
		}
		if !errors.Is(err, io.EOF) {
			return found, err
		}
		return found, nil
	}
	for _, want := range []float64{1, 100, 10_000} {
		side := math.Sqrt(want / n)
		b.Run(fmt.Sprintf("op=search/features=%v", want), func(b *testing.B) {
			inFlight(b, func(rng *rand.Rand) (int, error) {
				x, y := rng.Float64()*(1-side), rng.Float64()*(1-side)
				return recv(c.FeatureServiceClient.Search(b.Context(), &catfishv1.FeatureServiceSearchRequest{
					Collection: "places", Query: &catfishv1.Query{Area: boxArea(x, y, x+side, y+side)},
				}))
			})
		})
	}
	b.Run("op=echo/features=1", func(b *testing.B) {
		p, err := c.find(b.Context(), &catfishv1.FeatureServiceSearchRequest{Limit: 1})
		if err != nil {
			b.Fatal(err)
		}
		res := &catfishv1.FeatureServiceSearchResponse{Features: p.features}
		plain := startEcho(b)
		inFlight(b, func(*rand.Rand) (int, error) {
			stream, err := plain.NewStream(b.Context(), &grpc.StreamDesc{ServerStreams: true}, "/echo/Echo")
			if err == nil {
				err = stream.SendMsg(res)
			}
			if err == nil {
				err = stream.CloseSend()
			}
			return recv(stream, err)
		})
	})
	b.Run("op=nearest/k=10/filter=1of10", func(b *testing.B) {
		inFlight(b, func(rng *rand.Rand) (int, error) {
			fs, err := all(c.FeatureServiceClient.Nearest(b.Context(), &catfishv1.FeatureServiceNearestRequest{
				Collection: "places", Point: &catfishv1.Point{X: rng.Float64(), Y: rng.Float64()}, K: 10, Filter: "properties.seats < 4",
			}))
			return len(fs), err
		})
	})
	b.Run("op=get", func(b *testing.B) {
		inFlight(b, func(rng *rand.Rand) (int, error) {
			_, err := c.Get(b.Context(), &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: fmt.Sprint("node/", rng.IntN(n))})
			return 1, err
		})
	})
	b.Run("op=put", func(b *testing.B) {
		inFlight(b, func(rng *rand.Rand) (int, error) {
			_, err := c.Put(b.Context(), &catfishv1.FeatureServicePutRequest{
				Collection: "places", Feature: pbPoint(fmt.Sprint("node/", rng.IntN(n)), rng.Float64(), rng.Float64(), `{"amenity":"cafe"}`),
			})
			return 1, err
		})
	})
}
