//go:build linux

package rounds

import (
	"fmt"
	"sync"
)

// record is what all clients of a round have said.
type record struct {
	mu       sync.Mutex
	ops      []Op
	boxes    []Box
	events   [][]Event // by process
	failures []Failure
	contents []Contents
	broken   []string
	calls    map[string]int // by process and path, those that were answered
}

func (r *record) take(process int, s *Said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case s.Op != nil:
		r.ops = append(r.ops, *s.Op)
		r.calls[callKey(process, s.Op.Path)]++
	case s.Box != nil:
		r.boxes = append(r.boxes, *s.Box)
	case s.Event != nil:
		r.events[process] = append(r.events[process], *s.Event)
	case s.Failure != nil:
		r.failures = append(r.failures, *s.Failure)
	case s.Contents != nil:
		r.contents = append(r.contents, *s.Contents)
	case s.Broken != "":
		r.broken = append(r.broken, fmt.Sprintf("clients %d: %s", process+1, s.Broken))
	}
}

func callKey(process int, path string) string { return fmt.Sprintf("%d %s", process, path) }

// answered is how many calls of a process by a path were answered so far.
func (r *record) answered(process int, path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[callKey(process, path)]
}

func (r *record) lastFailure(path string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.failures) - 1; i >= 0; i-- {
		if r.failures[i].Path == path {
			return r.failures[i].Text
		}
	}
	return "no call failed"
}
