package client

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/wire"
)

// The client process of TestStoppedLease

// leaseReport is what it prints at its end.
type leaseReport struct {
	Gets, Hits uint64
	Across     uint64 // gets that a stop interrupted
	Wrong      string // a reader's first wrong answer
}

const leaseReaders = 2

// leaseReader gets all keys again and again.
type leaseReader struct {
	recs *Records
	ledger
	gets, passes, across atomic.Uint64
	wrong                atomic.Pointer[string]
}

func (r *leaseReader) run(t *testing.T, over *atomic.Bool) {
	tick := time.NewTicker(time.Millisecond) // Processes share cores.
	defer tick.Stop()
	var buf []byte
	for ; !over.Load(); <-tick.C {
		for key := range stopKeys {
			began, acked := time.Now(), r.acked[key].Load()
			rec, err := r.recs.Get(t.Context(), testKey(key), buf[:0])
			if says := judge(key, rec.Value, err, acked, r.begun[key].Load()); says != "" {
				r.wrong.CompareAndSwap(nil, &says)
			}
			buf = rec.Value
			r.gets.Add(1)
			if time.Since(began) > time.Second { // Stops last longer, and nothing else does.
				r.across.Add(1)
			}
		}
		r.passes.Add(1)
	}
}

// readLeased gets keys until standard input ends. It answers a line "lease D" when it has leases with at least
// D left on half of the keys, and "pass" when each reader has begun after the line, and got all keys.
func readLeased(t *testing.T, args []string) (r leaseReport) {
	l, err := openLedger(args[2])
	if err != nil {
		t.Fatal(err)
	}
	// The default: references of young records are not kept, and leases grow with the records' age.
	c, err := Dial(t.Context(), args[0], Options{Transport: args[1], Fabric: testFabric, Policy: "offload-cached", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	recs, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var group sync.WaitGroup
	var readers [leaseReaders]leaseReader
	for i := range readers {
		readers[i].recs, readers[i].ledger = recs, l
		group.Go(func() { readers[i].run(t, &over) })
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word, rest, _ := strings.Cut(in.Text(), " ")
		switch word {
		case "lease":
			least, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			var longest time.Duration
			eventually(t, "leases on half of the keys", func() (ok bool) {
				longest, ok = leasesLeft(t, recs, least)
				return ok
			})
			fmt.Println("leased", longest)
		case "pass":
			for i := range readers {
				from := readers[i].passes.Load()
				eventually(t, "a pass over all keys", func() bool { return readers[i].passes.Load() >= from+2 })
				if says := readers[i].wrong.Load(); says != nil {
					fmt.Println("wrong:", *says)
				}
			}
			fmt.Println("passed")
		default:
			t.Fatalf("%q", in.Text())
		}
	}
	over.Store(true)
	group.Wait()
	r.Hits = c.Counters().PointerHits
	for i := range readers {
		r.Gets, r.Across = r.Gets+readers[i].gets.Load(), r.Across+readers[i].across.Load()
		if says := readers[i].wrong.Load(); says != nil {
			r.Wrong = *says
		}
	}
	return r
}

// leasesLeft is what is left of the longest lease, and whether half of the keys have leases with at least that
// much left.
func leasesLeft(t *testing.T, recs *Records, least time.Duration) (longest time.Duration, ok bool) {
	s, err := recs.c.conn.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	o := s.slabs[testRecords]
	s.mu.Unlock()
	if o == nil || o.records.pointers == nil {
		return 0, false
	}
	n, now := 0, wire.Monotonic()
	for key := range stopKeys {
		_, until, kept := o.records.pointers.Get(cuckoo.Hash(o.records.m.Seed, testKey(key)), now)
		if left := until - now; kept && left >= least {
			n, longest = n+1, max(longest, left)
		}
	}
	return longest, 2*n >= stopKeys
}
