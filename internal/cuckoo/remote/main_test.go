package remote

import (
	"context"
	"encoding/binary"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/readtest"
	"github.com/catfish-index/catfish/offload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	slabBytes  = 4 << 20
	recordsAt  = slabBytes // the records lie behind the slab
	records    = 1 << 13
	recordSize = 64
)

// site is a server's index with records of one line, and a client of it.
type site struct {
	mem   []byte
	index cuckoo.Index
	table *Table
	ch    *offload.Channel
	walk  Walk
	stats offload.Stats

	copies uint64 // reads for each block
}

func newSite(t testing.TB, o cuckoo.Options) *site {
	t.Helper()
	srv := readtest.Serve(t, slabBytes+records*recordSize)
	s := &site{mem: srv.Bytes(), copies: srv.Copies()}
	o.BootID = 7
	var err error
	if s.index, err = cuckoo.New(cuckoo.GCuckoo, s.mem[:slabBytes], o); err != nil {
		t.Fatal(err)
	}
	s.ch = srv.Dial(BlockBytes, 16)
	s.table = &Table{Base: srv.Remote(), Bytes: slabBytes, BootID: 7}
	return s
}

// put adds a key, whose record at place ref is its name and a hash.
func (s *site) put(name, ref uint64) (hash uint64, err error) {
	hash = hashOf(name)
	r := s.mem[recordsAt+ref*recordSize:]
	binary.LittleEndian.PutUint64(r, 0)
	binary.LittleEndian.PutUint64(r[8:], name)
	return hash, s.index.Insert(hash, ref)
}

func hashOf(name uint64) uint64 {
	return cuckoo.Hash(3, binary.LittleEndian.AppendUint64(nil, name))
}

// keys is a Follower for names, which finds their references.
type keys struct {
	names []uint64
	found []uint64
}

func (k *keys) Candidates(_ int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error) {
	for _, r := range refs {
		dst = append(dst, offload.Ref{
			Offset: recordsAt + r%records*recordSize, Len: recordSize, Read: offload.Read{Hop: hop}, Tag: r % records,
		})
	}
	return dst, nil
}

func (k *keys) Visit(i int, ref offload.Ref, b []byte, dst []offload.Ref) ([]offload.Ref, Judgement, offload.Verdict, error) {
	if binary.LittleEndian.Uint64(b[8:]) != k.names[i] {
		return dst, OtherKey, offload.Accept, nil
	}
	k.found[i] = ref.Tag
	return dst, Match, offload.Accept, nil
}

// get looks names up in one walk.
func (s *site) get(ctx context.Context, k *keys, hashes []uint64) error {
	s.stats = offload.Stats{}
	if err := s.walk.Begin(s.table, hashes, k); err != nil {
		return err
	}
	return s.ch.Run(ctx, []rdma.Remote{s.table.Base}, &s.walk, &s.stats)
}

// aligned returns n bytes of zeros that begin at a line.
func aligned(n int) []byte {
	b := make([]byte, n+cuckoo.LineBytes)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (cuckoo.LineBytes - 1)
	return b[off : off+n : off+n]
}
