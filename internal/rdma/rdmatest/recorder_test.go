package rdmatest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder is a testing.TB that only records its failures, so that a test can
// require that a case fails.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
	failed   bool
	first    string
}

// record runs f to its end, or until f calls FailNow.
func record(t testing.TB, f func(t testing.TB)) *recorder {
	r := &recorder{TB: t}
	guard := func(f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	guard(func() { f(r) })
	for len(r.cleanups) > 0 {
		last := len(r.cleanups) - 1
		c := r.cleanups[last]
		r.cleanups = r.cleanups[:last]
		guard(c)
	}
	return r
}

func (r *recorder) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.failed {
		r.failed, r.first = true, s
	}
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Cleanup(f func())             { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()                      {}
func (r *recorder) Log(...any)                   {}
func (r *recorder) Logf(string, ...any)          {}
func (r *recorder) Fail()                        { r.note("Fail") }
func (r *recorder) FailNow()                     { r.note("FailNow"); runtime.Goexit() }
func (r *recorder) Error(args ...any)            { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.note(fmt.Sprint(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)); runtime.Goexit() }
