package jakiro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/rdma"
)

// KeyBytes is the length of all keys.
const KeyBytes = 16

// lengthBytes stand before a value. The paper has GETs and PUTs; deleted and failed are ours.
const (
	lengthBytes = 2
	deleted     = 1<<16 - 1 // in a request: delete the key
	failed      = 1<<16 - 1 // in a result: the error's text follows
	// MaxValue is the largest value.
	MaxValue = MaxBody - KeyBytes - lengthBytes
)

// MaxBodyOf is the largest body of requests and results with values of at most value bytes.
func MaxBodyOf(value int) int { return KeyBytes + lengthBytes + value }

// ErrNotFound: a key has no value.
var ErrNotFound = errors.New("jakiro: no such key")

const (
	indexMemory  = 1 << 28
	recordMemory = 1 << 32
)

// Map is the store, in parts of which each belongs to one server thread (EREW).
type Map struct{ parts []part }

type part struct {
	m      *kv.Map
	buf    kv.Buffer
	memory [][]byte
}

// NewMap makes an empty store in parts for that number of threads.
func NewMap(threads int) (_ *Map, err error) {
	m := &Map{parts: make([]part, threads)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	began := time.Now()
	for i := range m.parts {
		p := &m.parts[i]
		for _, n := range []int64{indexMemory, recordMemory} {
			b, err := mapped.Map(n)
			if err != nil {
				return m, fmt.Errorf("jakiro: memory of a store: %w", err)
			}
			p.memory = append(p.memory, b)
		}
		if p.m, err = kv.New(kv.Options{Index: p.memory[0], Records: p.memory[1], Boot: rand.Uint64(), Seed: rand.Uint64(),
			Now: func() time.Duration { return time.Since(began) }}); err != nil {
			return m, err
		}
	}
	return m, nil
}

// Close frees the memory. No thread may use the store any more.
func (m *Map) Close() (err error) {
	for _, p := range m.parts {
		for _, b := range p.memory {
			err = errors.Join(err, mapped.Unmap(b))
		}
	}
	return err
}

// Stats are the sums over all parts.
func (m *Map) Stats() (sum kv.Stats) {
	for _, p := range m.parts {
		sum.Add(p.m.Stats())
	}
	return sum
}

// Serve is the Handler.
func (m *Map) Serve(thread int, dst, body []byte) []byte {
	dst, err := m.parts[thread].serve(dst, body)
	if err != nil {
		text := err.Error()
		return append(binary.LittleEndian.AppendUint16(dst, failed), text[:min(len(text), KeyBytes)]...)
	}
	return dst
}

func (p *part) serve(dst, body []byte) ([]byte, error) {
	if len(body) < KeyBytes || len(body) > KeyBytes && len(body) < KeyBytes+lengthBytes {
		return dst, ErrProtocol
	}
	key, rest := body[:KeyBytes], body[KeyBytes:]
	if len(rest) == 0 {
		v, _, err := p.m.Get(key, &p.buf)
		if errors.Is(err, kv.ErrNotFound) {
			return dst, nil
		}
		return append(binary.LittleEndian.AppendUint16(dst, uint16(len(v.Value))), v.Value...), err
	}
	if binary.LittleEndian.Uint16(rest) == deleted {
		err := p.m.Delete(key, kv.Condition{})
		if errors.Is(err, kv.ErrNotFound) {
			return dst, nil
		}
		return binary.LittleEndian.AppendUint16(dst, 0), err
	}
	_, err := p.m.Put(kv.Entry{Key: key, Value: rest[lengthBytes:]}, kv.Condition{})
	return dst, err
}

// Store is a client thread of a Map.
type Store struct {
	*Client
	body, result []byte
}

// DialStore connects a client thread.
func DialStore(ctx context.Context, dev rdma.Device, addr string, threads, fetchBytes int) (*Store, error) {
	c, err := Dial(ctx, dev, addr, threads, fetchBytes)
	if err != nil {
		return nil, err
	}
	return &Store{Client: c}, nil
}

// DialIndicatorStore connects a client thread to a server with Config.Indicators.
func DialIndicatorStore(ctx context.Context, dev rdma.Device, addr string, threads, maxBody int) (*Store, error) {
	c, err := DialIndicators(ctx, dev, addr, threads, maxBody)
	if err != nil {
		return nil, err
	}
	return &Store{Client: c}, nil
}

// call makes the call to the thread of the body's key.
func (s *Store) call(ctx context.Context) (err error) {
	h := fnv.New64a()
	_, _ = h.Write(s.body[:KeyBytes]) // It never fails.
	s.result, err = s.Call(ctx, int(h.Sum64()>>32%uint64(len(s.lanes))), s.result[:0], s.body)
	if err == nil && len(s.result) >= lengthBytes && binary.LittleEndian.Uint16(s.result) == failed {
		err = fmt.Errorf("%w: the server says %q", ErrProtocol, s.result[lengthBytes:])
	}
	return err
}

// begin begins a request.
func (s *Store) begin(key []byte) error {
	if len(key) != KeyBytes {
		return fmt.Errorf("%w: a key of %d bytes, want %d", ErrConfig, len(key), KeyBytes)
	}
	s.body = append(s.body[:0], key...)
	return nil
}

// Get appends the value of a key to dst.
func (s *Store) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	if err := s.begin(key); err != nil {
		return dst, err
	}
	if err := s.call(ctx); err != nil {
		return dst, err
	}
	if len(s.result) == 0 {
		return dst, ErrNotFound
	}
	if len(s.result) < lengthBytes || int(binary.LittleEndian.Uint16(s.result)) != len(s.result)-lengthBytes {
		return dst, fmt.Errorf("%w: a value in %d bytes", ErrProtocol, len(s.result))
	}
	return append(dst, s.result[lengthBytes:]...), nil
}

// Put stores a value.
func (s *Store) Put(ctx context.Context, key, value []byte) error {
	if err := s.begin(key); err != nil {
		return err
	}
	if len(value) > MaxValue {
		return fmt.Errorf("%w: a value of %d bytes, want at most %d", ErrConfig, len(value), MaxValue)
	}
	s.body = append(binary.LittleEndian.AppendUint16(s.body, uint16(len(value))), value...)
	return s.call(ctx)
}

// Delete removes a key.
func (s *Store) Delete(ctx context.Context, key []byte) error {
	if err := s.begin(key); err != nil {
		return err
	}
	s.body = binary.LittleEndian.AppendUint16(s.body, deleted)
	if err := s.call(ctx); err != nil {
		return err
	}
	if len(s.result) == 0 {
		return ErrNotFound
	}
	return nil
}
