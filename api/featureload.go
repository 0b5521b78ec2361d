package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/whole"
)

// Uploads of features
//
// Features are stored as they arrive: up to loadWindow of them are in flight at
// a time, so that one fsync serves many. While that many are in flight the
// stream is not read, which holds the client back by flow control.

const (
	// MaxLoadFeatures bounds the features of one message of a Load, before it is
	// decoded: an empty one is 2 bytes on the wire and loadedBytes in memory.
	MaxLoadFeatures = 4096
	// loadWindow is how many features are in flight to the disk: two batches of
	// the store, one being written and one being gathered.
	loadWindow = 2048
	// loadedBytes is a decoded Feature, its pointer and its geometry's.
	loadedBytes = 256
	// loadErrors is how many rejected features are reported.
	loadErrors = 10
	// messageRatio bounds what a message takes besides its features: its bytes,
	// its strings, and a geometry of positions that take 4 bytes as text and 16
	// when they are decoded.
	messageRatio = 6
)

// featureUpload is one Load.
type featureUpload struct {
	*featureService
	ctx     context.Context
	c       whole.Collection
	name    string
	strict  bool
	account *limits.Account
	slots   chan struct{} // of features in flight
	pending sync.WaitGroup

	mu       sync.Mutex
	stored   uint64
	received uint64 // of the handler
	rejected uint64
	errors   []*catfishv1.FeatureError
	err      error // the first that ends the upload
}

// Load stores features as they come.
func (s *featureService) Load(stream grpc.ClientStreamingServer[
	catfishv1.FeatureServiceLoadRequest, catfishv1.FeatureServiceLoadResponse],
) error {
	ctx := stream.Context()
	u := &featureUpload{featureService: s, ctx: ctx, slots: make(chan struct{}, loadWindow)}
	c := callOf(ctx)
	u.account = s.loads.Open(sourceOf(ctx), func(err error) {
		c.end(overBudget(s.loads, ReasonLoadBusy, loadRetry, err))
	})
	defer u.account.Close()
	// Reserve room for one message and its decoded form.
	err := u.take(messageRatio*int64(s.options.maxMessageBytes) + MaxLoadFeatures*loadedBytes)
	if err != nil {
		return statusOf("", err)
	}
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		err = &fieldError{"collection", ReasonBadField, errors.New("the stream ended before its first message")}
	}
	if err != nil {
		return statusOf("", streamError(ctx, err))
	}
	u.name, u.strict = first.GetCollection(), first.GetStrict()
	if u.c, err = s.collection(ctx, "collection", u.name); err != nil {
		return err
	}
	err = u.receive(stream, first)
	u.pending.Wait()
	if u.err != nil {
		err = u.err
	}
	res := &catfishv1.FeatureServiceLoadResponse{
		Received: u.received, Stored: u.stored, Rejected: u.rejected, Errors: u.errors,
	}
	if err != nil {
		return failed(ctx, u.name, err, res)
	}
	return stream.SendAndClose(res)
}

func (u *featureUpload) receive(stream grpc.ClientStreamingServer[
	catfishv1.FeatureServiceLoadRequest, catfishv1.FeatureServiceLoadResponse], m *catfishv1.FeatureServiceLoadRequest,
) error {
	for {
		if n := m.GetCollection(); n != "" && n != u.name {
			return &fieldError{"collection", ReasonBadField,
				fmt.Errorf("is %.*q, but the first message said %q", MaxNameBytes, n, u.name)}
		}
		if err := u.boxes.Host.CheckMemory(); err != nil {
			return err
		}
		for i, p := range m.GetFeatures() {
			if err := u.put(fmt.Sprintf("features[%d]", i), p); err != nil {
				return err
			}
		}
		var err error
		if m, err = stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return streamError(u.ctx, err)
		}
	}
}

// put begins to store one feature.
func (u *featureUpload) put(field string, p *catfishv1.Feature) error {
	index := u.received
	u.received++
	e, err := encode(u.c, field, p)
	if err != nil {
		return u.reject(index, p.GetId(), err)
	}
	bytes := int64(len(e.value) + len(e.id))
	if err := u.take(bytes); err != nil {
		return err
	}
	select {
	case u.slots <- struct{}{}:
	case <-u.ctx.Done():
		return context.Cause(u.ctx)
	}
	if err := u.ended(); err != nil {
		return err
	}
	u.pending.Add(1)
	u.c.PutEncoded(e.id, e.value, e.expires, kv.Condition{}, func(_ uint64, err error) {
		if err = u.done(index, e.id, err); err != nil {
			u.mu.Lock()
			if u.err == nil {
				u.err = err
			}
			u.mu.Unlock()
		}
		u.account.Give(bytes)
		<-u.slots
		u.pending.Done()
	})
	return nil
}

// done counts a feature for which the store has answered.
func (u *featureUpload) done(index uint64, id string, err error) error {
	if err == nil {
		u.mu.Lock()
		u.stored++
		u.mu.Unlock()
		return nil
	}
	if isFeatureError(err) {
		return u.reject(index, id, err)
	}
	return ofFeature(id, err)
}

// reject counts a feature that is not valid. The error ends a strict upload.
func (u *featureUpload) reject(index uint64, id string, err error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rejected++
	if len(u.errors) < loadErrors {
		_, reason := classify(err)
		u.errors = append(u.errors, &catfishv1.FeatureError{
			Index: index, Id: clip(id, 64), Reason: reason, Message: textOf(err, 200),
		})
	}
	if u.strict {
		return fmt.Errorf("feature %d of the stream (id %s): %w", index, quoted(id), err)
	}
	return nil
}

func (u *featureUpload) ended() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// take is upload.take.
func (u *featureUpload) take(n int64) error {
	err := u.account.Take(n)
	if err == nil {
		return nil
	}
	if why := callOf(u.ctx).ended(); why != nil {
		return why
	}
	return overBudget(u.loads, ReasonLoadBusy, loadRetry, err)
}

// clip is s of at most n bytes, and valid.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}

func quoted(id string) string { return fmt.Sprintf("%q", clip(id, 64)) }
