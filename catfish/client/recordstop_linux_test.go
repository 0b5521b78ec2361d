package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

var stops = flag.Int("stops", 3, "how often TestStoppedReader stops a client")

const (
	stopChild = "CATFISH_TEST_STOPPED" // the address, of a test's client process
	stopKeys  = 200
)

// stopValue is the value that write n of a key stores: a mixture of two writes shows.
func stopValue(key int, n uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, n)
	return append(b, bytes.Repeat([]byte{byte(key), byte(n), byte(n >> 8), byte(n >> 16)}, 30+key%40)...)
}

// stopReport is the report that the client process prints at its end.
type stopReport struct {
	Gets, Hits, Invalid uint64
	Wrong               string
}

// TestStoppedReader: a client process is stopped past the grace and its
// leases, while the records that it reads die and their places are reused. It
// never gets a wrong value, nor an older one than before.
func TestStoppedReader(t *testing.T) {
	if addr := os.Getenv(stopChild); addr != "" {
		if err := json.NewEncoder(os.Stdout).Encode(readUntilInputEnds(t, addr)); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, tr := range oneSided {
		t.Run(tr, func(t *testing.T) {
			t.Parallel() // Most of the time processes are stopped.
			testStops(t, tr)
		})
	}
}

func testStops(t *testing.T, transport string) {
	// Little memory, so that places are reused as soon as they may be.
	s := startRecords(t, server.Options{SlabBytes: 4 << 20})
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Uint64
	put := func(key int) {
		_, err := m.Put(kv.Entry{Key: testKey(key), Value: stopValue(key, n.Add(1))}, kv.Condition{})
		if err != nil && !errors.Is(err, record.ErrFull) {
			t.Error(err)
		}
	}
	for key := range stopKeys {
		put(key)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestStoppedReader$")
	cmd.Env = append(os.Environ(), stopChild+"="+s.Addr()+"/"+transport)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	// If the client has not seen enough values, the test shows nothing.
	ask := func() {
		t.Helper()
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "seen\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	var writer sync.WaitGroup
	var done atomic.Bool
	writer.Go(func() {
		// The number of puts that fit, if places are reused at once.
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for key := 0; !done.Load(); key = (key + 1) % stopKeys {
			if key%4 != 0 { // some stay, and get long leases
				put(key)
			}
			if key%20 == 0 {
				<-tick.C
			}
		}
	})
	defer func() {
		done.Store(true)
		writer.Wait()
	}()
	for range *stops {
		ask()
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// The duration is the subject of the test: more than the grace.
		time.Sleep(record.DefaultGrace * 11 / 10)
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	in.Close() // makes the process end
	var r stopReport
	if err := json.NewDecoder(lines).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d writes, %d gets, %d by kept references, %d of these no good", n.Load(), r.Gets, r.Hits, r.Invalid)
	if r.Wrong != "" {
		t.Error(r.Wrong)
	}
}

// enough is how many values the client gets between two stops, at least: each
// key's twice by each of its readers.
const enough = 4 * 2 * stopKeys

// readUntilInputEnds gets keys until standard input ends. It answers each line of input when
// it has seen enough: since the line it got enough values, some of them by kept
// references, and some kept references were invalid.
func readUntilInputEnds(t *testing.T, at string) (r stopReport) {
	addr, transport := at[:bytes.LastIndexByte([]byte(at), '/')], at[bytes.LastIndexByte([]byte(at), '/')+1:]
	c, err := Dial(t.Context(), addr, WithHooks(Options{Transport: transport, Fabric: testFabric, Policy: "offload-cached", Logger: quiet()}, keepYoung))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	recs, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Bool
	var gets atomic.Uint64
	asked := make(chan struct{})
	go func() {
		defer told.Store(true)
		defer close(asked)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			asked <- struct{}{}
		}
	}()
	var mu sync.Mutex
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := make([]uint64, stopKeys)
			var buf []byte
			for key := 0; !told.Load(); key = (key + 1) % stopKeys {
				rec, err := recs.Get(t.Context(), testKey(key), buf[:0])
				wrong := ""
				switch {
				case err != nil:
					wrong = err.Error()
				case len(rec.Value) < 8:
					wrong = fmt.Sprintf("key %d: %d bytes", key, len(rec.Value))
				default:
					n := binary.LittleEndian.Uint64(rec.Value)
					if !bytes.Equal(rec.Value, stopValue(key, n)) || n < last[key] {
						wrong = fmt.Sprintf("key %d: write %d after write %d, %x", key, n, last[key], rec.Value)
					}
					last[key], buf = n, rec.Value
				}
				gets.Add(1)
				mu.Lock()
				if wrong != "" && r.Wrong == "" {
					r.Wrong = wrong
				}
				mu.Unlock()
			}
		})
	}
	for range asked {
		before, got := c.Counters(), gets.Load()
		eventually(t, "values, by references that were kept, too", func() bool {
			now := c.Counters()
			return gets.Load() >= got+enough && now.PointerHits > before.PointerHits && now.PointerInvalid > before.PointerInvalid
		})
		fmt.Println("seen")
	}
	readers.Wait()
	n := c.Counters()
	r.Gets, r.Hits, r.Invalid = gets.Load(), n.PointerHits, n.PointerInvalid
	return r
}
