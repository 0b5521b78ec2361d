// Package affinity describes sets of processor cores, restarts a process on one of
// them, and runs functions on one core.
//
// The Go runtime counts its cores once, when the process starts, so
// changing the mask of a running process leaves GOMAXPROCS (and every
// pool sized by it) wrong. Reexec therefore sets the mask and replaces
// the process image; the new image sees only its own cores.
package affinity

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxCPU is the highest core number in a Set: the kernel's mask type
// cpu_set_t (CPU_SETSIZE, sched_setaffinity(2)) holds 1024.
const MaxCPU = 1023

var (
	// ErrBadList is wrapped when a list of cores cannot be parsed.
	ErrBadList = errors.New("bad list of cores")
	// ErrUnavailable is wrapped when a list names a core that this
	// process may not use.
	ErrUnavailable = errors.New("core not available")
	// ErrUnsupported is wrapped on platforms that cannot pin a process.
	ErrUnsupported = errors.New("pinning to cores is not supported here")
)

// A Set holds core numbers, ascending, each once. The empty Set leaves
// the choice to the scheduler.
type Set []int

// Parse reads a list as the kernel writes it (cpuset(7), "List format"):
// numbers and ranges, separated by commas, such as "0", "1,3" or "0-2,5".
// The empty string is the empty Set. Errors wrap ErrBadList.
func Parse(list string) (Set, error) {
	list = strings.TrimSpace(list)
	if list == "" {
		return nil, nil
	}
	var s Set
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		lo, err := core(first)
		if err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrBadList, list, err)
		}
		hi := lo
		if ranged {
			if hi, err = core(last); err != nil {
				return nil, fmt.Errorf("%w %q: %w", ErrBadList, list, err)
			}
		}
		if hi < lo {
			return nil, fmt.Errorf("%w %q: range %q runs backwards",
				ErrBadList, list, part)
		}
		for c := lo; c <= hi; c++ {
			s = append(s, c)
		}
	}
	slices.Sort(s)
	return slices.Compact(s), nil
}

func core(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 || n > MaxCPU {
		return 0, fmt.Errorf("%q is not a core number from 0 to %d", text, MaxCPU)
	}
	return n, nil
}

// String is the shortest list that Parse reads back as s.
func (s Set) String() string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j+1 < len(s) && s[j+1] == s[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(s[i]))
		switch {
		case j == i+1:
			b.WriteString("," + strconv.Itoa(s[j]))
		case j > i:
			b.WriteString("-" + strconv.Itoa(s[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Within returns an error that wraps ErrUnavailable and names the first
// core of s that is not in avail.
func (s Set) Within(avail Set) error {
	for _, c := range s {
		if !slices.Contains(avail, c) {
			return fmt.Errorf("%w: %d (this process may use %s)",
				ErrUnavailable, c, avail)
		}
	}
	return nil
}

// Split fills empty sets of a server and its clients: the first core that this
// process may use for the server, the others for the clients. With only one
// core, empty sets stay empty.
func Split(server, clients Set) (s, c Set, err error) {
	avail, err := Available()
	if err != nil {
		return nil, nil, err
	}
	s, c = server, clients
	if len(avail) > 1 {
		if len(s) == 0 {
			s = avail[:1]
		}
		if len(c) == 0 {
			c = avail[1:]
		}
	}
	return s, c, nil
}
