package api

import (
	"context"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/catfish-index/catfish/internal/store"
)

func floatBits(f float64) uint64 { return math.Float64bits(f) }

// wire is a message in its wire form, which the codec sends unchanged. gRPC
// then owns the bytes.
type wire struct{ b []byte }

func (w *wire) buffers() mem.BufferSlice {
	return mem.BufferSlice{mem.NewBuffer(&w.b, &batches)}
}

// batchBytes is the size at which a batch of features is full: several batches
// fit HTTP/2's initial flow-control window of 64 KiB, and one fits a buffer of
// 32 KiB, with 4 KiB for its last feature. soonBytes is the size of an answer's
// first batch. Most answers have no second one.
const (
	batchBytes = 28 << 10
	poolBytes  = 32 << 10
	soonBytes  = 4 << 10
)

// featuresField is the number of the field with features in all responses.
const featuresField = 1

// featureAnswer is an answer of features, in batches as they are sent: messages
// with features in field 1.
type featureAnswer struct {
	selection
	full  [][]byte
	last  []byte
	in    int   // features in last
	n     int   // features in total
	bytes int64 // of full
	held  int64 // reported to the budget
}

// add appends a feature. The error says why the call must end.
func (a *featureAnswer) add(ctx context.Context, f *store.Found) error {
	b := protowire.AppendTag(a.room(), featuresField, protowire.BytesType)
	at := len(b)
	b, err := a.appendFeature(b, f)
	if err != nil {
		return err
	}
	a.last = prefixLength(b, at)
	return a.added(ctx)
}

// addWire appends a feature in its wire form.
func (a *featureAnswer) addWire(ctx context.Context, f []byte) error {
	a.last = protowire.AppendTag(a.room(), featuresField, protowire.BytesType)
	a.last = protowire.AppendBytes(a.last, f)
	return a.added(ctx)
}

// room is the batch for the next feature.
func (a *featureAnswer) room() []byte {
	if a.fullBatch() {
		a.full = append(a.full, a.last)
		a.bytes += int64(cap(a.last))
		a.last, a.in = nil, 0
	}
	if a.last == nil {
		size := soonBytes
		if a.n > 0 {
			size = poolBytes
		}
		a.last = (*batches.Get(size))[:0]
	}
	return a.last
}

func (a *featureAnswer) fullBatch() bool { return a.in == BatchItems || len(a.last) >= batchBytes }

// added counts the feature. callBytes has room for one batch that is not full.
func (a *featureAnswer) added(ctx context.Context) error {
	a.in++
	a.n++
	bytes := a.bytes + int64(cap(a.last))
	if bytes <= a.held || bytes <= poolBytes {
		return nil
	}
	a.held = bytes
	return hold(ctx, bytes)
}

// send sends all batches and makes the answer ready for more.
func (a *featureAnswer) send(ctx context.Context, stream grpc.ServerStream) error {
	for i, b := range a.full {
		a.full[i] = nil
		a.bytes -= int64(cap(b))
		if err := sendWire(ctx, stream, b); err != nil {
			return err
		}
		a.held = a.bytes + int64(cap(a.last))
		if err := hold(ctx, a.held); err != nil {
			return err
		}
	}
	a.full = a.full[:0]
	if len(a.last) == 0 {
		return nil
	}
	b := a.last
	a.last, a.in, a.bytes = nil, 0, 0
	if err := sendWire(ctx, stream, b); err != nil {
		return err
	}
	if a.held == 0 {
		return nil
	}
	a.held = 0
	return hold(ctx, 0)
}

// sendWire is sendBatch for a message in its wire form.
func sendWire(ctx context.Context, stream grpc.ServerStream, b []byte) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := stream.SendMsg(&wire{b}); err != nil {
		return streamError(ctx, err)
	}
	return nil
}
