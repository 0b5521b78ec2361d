// Package rdmatest is the conformance suite of the verbs API: the duties
// of every provider of package rdma, as tests. A provider calls it from
// its own tests:
//
//	func open(string) (rdma.Device, error) { return soft.Open(...) }
//
//	func TestMain(m *testing.M) {
//		rdmatest.Child(open) // peers that die run in child processes
//		goleak.VerifyTestMain(m)
//	}
//
//	func TestConformance(t *testing.T) {
//		rdmatest.Run(t, rdmatest.Config{
//			Open: func(t testing.TB) rdma.Device { ... },
//			Addr: func(t testing.TB) string { return "127.0.0.1:0" },
//		})
//	}
//
// Reading order: this file (a provider's configuration), env.go (how a case
// gets its queue pairs), then one file per subject: connect, transfer, order,
// remote (errors at the target), local (errors before sending), queues, wait,
// closing, revoke, process (peers that die).
//
// A case waits for conditions, never for time to pass: a deadline only
// determines when to give up (Config.Patience). inmem, a provider within one
// process, passes the suite, and each of its deliberate bugs fails it.
package rdmatest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Config describes a provider to the suite.
type Config struct {
	// Open opens a fresh device; both sides of a connection get one
	// each. The suite closes it.
	Open func(t testing.TB) rdma.Device
	// Addr returns an address that is free to listen on. The address that the
	// Listener then reports (Addr) is dialed.
	Addr func(t testing.TB) string
	// Variant is passed to the child process's open function, for providers
	// that run the suite more than once.
	Variant string
	// SingleProcess marks a provider that does not reach other
	// processes: the cases with child processes are not in the suite.
	SingleProcess bool
	// Kill, if set, makes a device's connections vanish as if its
	// process had died, for providers that can be killed in-process.
	Kill func(t testing.TB, dev rdma.Device)
	// Patience bounds every single wait of a case (0: a minute). It is only
	// used up by a failing case.
	Patience time.Duration
}

// defaultPatience is far more than any wait takes on a loaded machine of
// two cores, and less than a test binary's limit.
const defaultPatience = time.Minute

// testCase is one property of the contract.
type testCase struct {
	name string
	run  func(e *env)
}

// cases lists the suite for a provider.
func cases(cfg Config) []testCase {
	var all []testCase
	all = append(all, connectCases...)
	all = append(all, transferCases...)
	all = append(all, orderCases...)
	all = append(all, remoteCases()...)
	all = append(all, localCases...)
	all = append(all, queueCases...)
	all = append(all, waitCases...)
	all = append(all, closeCases...)
	all = append(all, revokeCases...)
	if cfg.Kill != nil {
		all = append(all, killCases...)
	}
	if !cfg.SingleProcess {
		all = append(all, processCases...)
	}
	return all
}

// Run runs the suite as subtests of t, sequentially. Each also checks
// that it leaks no goroutine and no file descriptor.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if !cfg.SingleProcess && !childReady {
		t.Fatal("rdmatest: TestMain must call rdmatest.Child first, " +
			"or Config.SingleProcess be set")
	}
	// A descriptor that a process opens once and keeps (epoll and the like)
	// is not a leak: this makes it happen before the first count.
	t.Run("WarmUp", func(t *testing.T) { runCase(t, cfg, testCase{run: caseRoundTrip}) })
	for _, c := range cases(cfg) {
		t.Run(c.name, func(t *testing.T) {
			checkLeaks(t, cfg)
			runCase(t, cfg, c)
		})
	}
}

// runCase runs one case on t's goroutine. Cleanups of t end it.
func runCase(t testing.TB, cfg Config, c testCase) {
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	c.run(&env{TB: t, cfg: cfg})
}

// checkLeaks fails t if more goroutines or descriptors exist after its other
// cleanups than before. Goroutines take a moment to end, so it polls.
func checkLeaks(t testing.TB, cfg Config) {
	patience := cfg.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		if t.Failed() {
			return // an aborted case may leave its own goroutines
		}
		settled := func() bool {
			return runtime.NumGoroutine() <= goroutines && openFiles() <= files
		}
		if !poll(patience, settled) {
			t.Errorf("leak: %d goroutines, were %d; %d files, were %d\n%s",
				runtime.NumGoroutine(), goroutines, openFiles(), files, stacks())
		}
	})
}

// openFiles counts this process's descriptors, 0 where the system does
// not show them.
func openFiles() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

// poll waits until cond holds, at most for patience.
func poll(patience time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		runtime.Gosched()
	}
	return true
}

func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}
