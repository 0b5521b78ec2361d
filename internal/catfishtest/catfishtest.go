// Package catfishtest has what the tests of client and server both need. It imports
// neither, since their tests are in the packages themselves.
package catfishtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/rstar"
)

// Quiet is a log that is thrown away.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// LogLines is a log that tests read.
type LogLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *LogLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *LogLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Logger writes to l.
func (l *LogLines) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Eventually polls a condition.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	// With a pause, because the awaited work needs the processor.
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// OwnAddr is the first address of a server that is stopped and started again at the
// same address. On Linux all of 127.0.0.0/8 is this machine's, so that no test of
// another process, which gets any free port, gets this port meanwhile.
func OwnAddr() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	// A process number is less than 1<<22 (proc(5), pid_max).
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16&0x3f, pid>>8&0xff, pid&0xff)
}

// Square is a box with sides of 1.
func Square(x, y float64) rstar.Rect {
	return rstar.Rect{MinX: x, MinY: y, MaxX: x + 1, MaxY: y + 1}
}

// Everything contains all boxes of the tests.
var Everything = rstar.Rect{MinX: -1e9, MinY: -1e9, MaxX: 1e9, MaxY: 1e9}

// A Server runs until Serve's context ends, and then is closed.
type Server interface {
	Serve(context.Context) error
	Close() error
}

// Run serves until the test ends, or stop was called, which returns the error.
func Run(t testing.TB, s Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stopped := false
	stop = sync.OnceValue(func() error {
		stopped = true
		cancel()
		return errors.Join(<-done, s.Close())
	})
	t.Cleanup(func() {
		if stopped {
			return
		}
		if err := stop(); err != nil {
			t.Errorf("Serve and Close: %v", err)
		}
	})
	return stop
}

// KeyFile writes a file of keys, whose texts it returns.
func KeyFile(t testing.TB, entries ...access.Entry) (file string, texts []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "keys")
	for _, e := range entries {
		e, key, err := access.NewKey(e)
		if err == nil {
			err = access.Add(file, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, key)
	}
	return file, texts
}
