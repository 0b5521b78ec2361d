package lanes

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// payload is HydraDB's: a key of 16 bytes and a value of 32.
var payload = make([]byte, 48)

func testConfig(t testing.TB, transport string, m Mode, followers int) Config {
	c := Config{Mode: m, Followers: followers, RingBytes: 64 << 10}
	switch transport {
	case "shm":
		c.Listen = filepath.Join(t.TempDir(), "s")
		c.Open = func() (rdma.Device, error) { return shm.Open(shm.Options{}) }
	default:
		c.Listen = "127.0.0.1:0"
		c.Open = func() (rdma.Device, error) { return soft.Open(soft.Options{}) }
	}
	return c
}

func open(t testing.TB, c Config) *Group {
	t.Helper()
	g, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// Each mode sends a frame for each write and follower, and needs as many answers as the paper
// says.
func TestCounts(t *testing.T) {
	const n = 320
	for _, transport := range []string{"soft", "shm"} {
		for _, followers := range []int{1, 2} {
			for mode, answers := range map[Mode]int{None: 0, Strict: n, Relaxed: n / AskEvery, Received: n} {
				t.Run(fmt.Sprintf("transport=%s/followers=%d/mode=%s", transport, followers, mode), func(t *testing.T) {
					c := testConfig(t, transport, mode, followers)
					var applied atomic.Int64
					c.Apply = func(int, uint64) error { applied.Add(1); return nil }
					g := open(t, c)
					if mode == None {
						followers = 0
					}
					if _, err := g.Run(n, payload); err != nil {
						t.Fatal(err)
					}
					catfishtest.Eventually(t, "all entries are applied and answered", func() bool {
						return applied.Load() == int64(n*followers) && g.Counts().Answers == uint64(answers*followers)
					})
					if got := g.Counts(); got.Frames != uint64(n*followers) || got.Again != 0 {
						t.Errorf("%+v", got)
					}
				})
			}
		}
	}
}

// Relaxed acknowledges entries that the follower has discarded. They are sent again after the next
// answer; a primary that dies before has lost them.
func TestRelaxedLosesWrites(t *testing.T) {
	for _, transport := range []string{"soft", "shm"} {
		t.Run(transport, func(t *testing.T) {
			c := testConfig(t, transport, Relaxed, 1)
			var last atomic.Uint64
			failed, acknowledged := false, make(chan struct{})
			c.Apply = func(_ int, seq uint64) error {
				if seq == 5 && !failed {
					failed = true
					<-acknowledged // Then the answer comes after all writes.
					return errors.New("once")
				}
				last.Store(seq)
				return nil
			}
			g := open(t, c)
			release := sync.OnceFunc(func() { close(acknowledged) })
			t.Cleanup(release)
			for range AskEvery {
				if err := g.Write(payload); err != nil {
					t.Fatal(err)
				}
			}
			release()
			catfishtest.Eventually(t, "the follower has answered", func() bool { return g.Counts().Answers == 1 })
			if last.Load() != 4 {
				t.Fatalf("the follower has %d entries, want 4 of the %d that were acknowledged", last.Load(), AskEvery)
			}
			f := g.followers[0]
			catfishtest.Eventually(t, "the primary knows", func() bool { return f.answer.Load().Received == 4 })
			if err := g.Write(payload); err != nil {
				t.Fatal(err)
			}
			catfishtest.Eventually(t, "all are sent again", func() bool { return last.Load() == AskEvery+1 })
			if got := g.Counts().Again; got != AskEvery+1-4 {
				t.Errorf("%d frames were sent again", got)
			}
		})
	}
}

// A follower that fails ends all modes but relaxed.
func TestFailureEnds(t *testing.T) {
	for _, mode := range []Mode{Strict, Received} {
		c := testConfig(t, "soft", mode, 1)
		c.Apply = func(_ int, seq uint64) error {
			if seq == 3 {
				return errors.New("no")
			}
			return nil
		}
		if _, err := open(t, c).Run(10, payload); !errors.Is(err, errGap) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// BenchmarkLane is the time of a write of 16 + 32 bytes of one of 8 clients.
func BenchmarkLane(b *testing.B) {
	for _, transport := range []string{"shm", "soft"} {
		for _, followers := range []int{1, 2} {
			for _, mode := range []Mode{Strict, Relaxed, Received} {
				b.Run(fmt.Sprintf("transport=%s/followers=%d/mode=%s", transport, followers, mode), func(b *testing.B) {
					c := testConfig(b, transport, mode, followers)
					c.Clients, c.RingBytes = 8, 4<<20
					g := open(b, c)
					b.ResetTimer()
					if _, err := g.Run(b.N, payload); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}
