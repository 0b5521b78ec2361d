package remote

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

// piecewise is memory that is registered as far as it is used: each time it grows, all
// of it from its front is registered again.
type piecewise struct {
	dev    rdma.Device
	mem    []byte
	latest rdma.Region
}

func (p *piecewise) grow(bytes int64) (int64, error) {
	r, err := p.dev.(rdma.MemoryRegistrar).RegisterMemory(p.mem[:bytes:bytes], rdma.RemoteRead)
	if err == nil {
		p.latest = r
	}
	return bytes, err
}

// A client that knows less of the memory than is used now gets ErrGrown, and has read
// nothing beyond what it knows, where no region is. When it knows what is registered it
// finds everything.
func TestErrGrown(t *testing.T) {
	open := func() rdma.Device {
		d, err := soft.Open(soft.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	dev := open()
	memory := func() *piecewise {
		mem, err := mapped.Map(16 << 20)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = mapped.Unmap(mem) })
		return &piecewise{dev: dev, mem: mem}
	}
	index, records := memory(), memory()
	clock := &stopped{now: time.Hour}
	m, err := kv.New(kv.Options{
		Index: index.mem, Records: records.mem, GrowIndex: index.grow, GrowRecords: records.grow,
		Boot: boot, Seed: seed, Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func() *Map {
		return &Map{
			Table: &table.Table{Base: index.latest.Remote(), Bytes: uint64(len(index.latest.Bytes())), BootID: boot},
			Seed:  seed, Block: 4096, Records: records.latest.Remote(),
			Space: record.Space{Bytes: uint64(len(records.latest.Bytes())), Boot: boot},
		}
	}
	ln, err := dev.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.CreateCQ(8)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if req, err := ln.Accept(context.Background()); err == nil {
			_, _ = req.Accept(rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, nil)
		}
	}()
	ch, err := offload.Dial(t.Context(), open(), ln.Addr(), offload.ChannelConfig{BlockBytes: 4096, Window: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ch.Close() })
	r := NewReader(ch, clock.Now, clock.Now)

	known := ask()
	grown := map[error]int{}
	for i := range 4000 {
		value := fmt.Sprint(i)
		if _, err := m.Put(kv.Entry{Key: key(i), Value: []byte(value)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{i, i / 2} {
			a, err := r.Get(t.Context(), known, key(k))
			if errors.Is(err, ErrGrown) {
				for _, e := range []error{cuckoo.ErrGrown, record.ErrGrown} {
					if errors.Is(err, e) {
						grown[e]++
					}
				}
				known = ask()
				a, err = r.Get(t.Context(), known, key(k))
			}
			if err != nil || a.Err != nil || string(a.View.Value) != fmt.Sprint(k) {
				t.Fatalf("key %d of %d: %v, %v", k, i, err, a.Err)
			}
		}
	}
	if grown[cuckoo.ErrGrown] < 3 || grown[record.ErrGrown] < 1 {
		t.Errorf("what had grown: %v", grown)
	}
	// A reference far beyond the known memory can be kept as well.
	last, err := r.Get(t.Context(), known, key(3999))
	if err != nil || last.Err != nil {
		t.Fatal(err, last.Err)
	}
	small := *known
	small.Space.Bytes = last.Ref.Offset()
	answers := []Answer{{}}
	err = r.GetKept(t.Context(), &small, [][]byte{key(3999)}, []Kept{{last.Ref, last.Until}}, answers)
	if !errors.Is(err, ErrGrown) || !answers[0].Invalid || !errors.Is(answers[0].Err, ErrUnsettled) {
		t.Errorf("kept, beyond what is known: %v, %+v", err, answers[0])
	}
}
