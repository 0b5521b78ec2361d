package client

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Server processes that are killed under load, for tests of features
// (featurekill_linux_test.go) and of boxes (boxkill_linux_test.go).

var kills = flag.Int("kills", 3, "how often TestKilledStore kills a server with sync always")

// Environment of the child: where it listens, its socket, data directory and sync.
const (
	killListen = "CATFISH_TEST_KILL_LISTEN"
	killSocket = "CATFISH_TEST_KILL_SOCKET"
	killDir    = "CATFISH_TEST_KILL_DIR"
	killSync   = "CATFISH_TEST_KILL_SYNC"
)

func killSyncs() []disk.Sync {
	return []disk.Sync{disk.SyncAlways, disk.SyncInterval(5 * time.Millisecond), disk.SyncOff}
}

// serveUntilKilled is the child process. It ends with its parent.
func serveUntilKilled(t *testing.T) {
	o := server.Options{
		Listen: os.Getenv(killListen), SocketPath: os.Getenv(killSocket), DataDir: os.Getenv(killDir),
		Transports: offered, Fabric: testFabric, SlabBytes: 64 << 20, Logger: quiet(),
		Features: map[string]model.FeaturesOptions{testFeatures: {}}, Keep: []string{testKept},
	}
	for _, s := range killSyncs() {
		if s.String() == os.Getenv(killSync) {
			o.Sync = s
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listens", s.Addr())
	go func() {
		if err := s.WaitReady(t.Context()); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("ready")
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := s.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// killedServer is a server process that is killed, and started again with the same
// data directory.
type killedServer struct {
	t    *testing.T
	sync disk.Sync
	rng  *rand.Rand
	env  []string
	addr string
	lost int // writes, counted by verify

	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Reader
}

func newKilledServer(t *testing.T, sync disk.Sync) *killedServer {
	dir := t.TempDir()
	return &killedServer{
		t: t, sync: sync, rng: rand.New(rand.NewPCG(18, 5)), addr: ownAddr(),
		env: append(os.Environ(), killSocket+"="+filepath.Join(dir, "s"),
			killDir+"="+filepath.Join(dir, "data"), killSync+"="+sync.String()),
	}
}

// again runs clients through a number of lives: each life ends by a kill, after
// which another process serves, perhaps the second one, and is verified.
func (k *killedServer) again(rounds int, life func() (writes int), verify func()) {
	writes := 0
	for range rounds {
		writes += life()
		if k.t.Failed() {
			return
		}
		k.start()
		if k.rng.IntN(4) == 0 { // while the server is loading
			k.kill()
			k.start()
		}
		k.ready()
		verify()
	}
	k.t.Logf("%d rounds, %d writes acknowledged, %d lost", rounds, writes, k.lost)
	if k.sync == disk.SyncAlways && writes < 10*rounds {
		k.t.Error("too few writes to say anything")
	}
}

// untilKilled lets begin start writers, which call done for each acknowledged write,
// and readers. It kills the server after some writes, and returns how many were
// acknowledged.
func (k *killedServer) untilKilled(begin func(ctx context.Context, done func(), writers, readers *sync.WaitGroup)) int {
	ctx, cancel := context.WithCancel(k.t.Context())
	defer cancel()
	var acked atomic.Int64
	until, reached := int64(20+k.rng.IntN(600)), make(chan struct{})
	done := func() {
		if acked.Add(1) == until {
			close(reached)
		}
	}
	var writers, readers sync.WaitGroup
	begin(ctx, done, &writers, &readers)
	ended := make(chan struct{})
	go func() {
		writers.Wait()
		close(ended)
	}()
	select {
	case <-reached:
	case <-ended: // The writers have failed.
	}
	k.kill()
	cancel()
	writers.Wait()
	readers.Wait()
	return int(acked.Load())
}

// start starts a server process, and returns when it listens.
func (k *killedServer) start() {
	k.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledStore$")
	cmd.Env = append(slices.Clone(k.env), killListen+"="+k.addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.cmd, k.in, k.lines = cmd, in, bufio.NewReader(out)
	addr, ok := strings.CutPrefix(k.line(), "listens ")
	if !ok {
		k.t.Fatalf("the child said %q", addr)
	}
	k.addr = addr
}

func (k *killedServer) line() string {
	l, err := k.lines.ReadString('\n')
	if err != nil {
		k.t.Fatalf("the child said %q, and %v", l, err)
	}
	return strings.TrimSpace(l)
}

func (k *killedServer) ready() {
	k.t.Helper()
	if l := k.line(); l != "ready" {
		k.t.Fatalf("the child said %q", l)
	}
}

func (k *killedServer) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	_ = k.in.Close()
}
