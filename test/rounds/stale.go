//go:build linux

package rounds

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/history"
)

// staleReads finds the reads that surely missed a write that was acknowledged before they
// began: each write whose value a read may have seen had been followed by
// another one. It also finds values of no write.
//
//	write of v   |-------|
//	write of w              |-------|
//	read of v                          |------|    stale
func staleReads(ops []Op) (stale map[int]bool, broken []string) {
	byKey := map[int][]Op{}
	for _, o := range ops {
		if !o.Read && o.Outcome != history.Refused {
			byKey[o.Key] = append(byKey[o.Key], o)
		}
	}
	type register struct {
		key   int
		value uint64
	}
	// until is when a value had surely been overwritten, and from is when it was first written.
	until, from := map[register]int64{}, map[register]int64{}
	for key, writes := range byKey {
		until[register{key, 0}], from[register{key, 0}] = overwritten(math.MinInt64, writes), math.MinInt64
		for _, w := range writes {
			v := register{key, w.Value}
			end := w.End
			if w.Outcome == history.Unknown {
				end = math.MaxInt64
			}
			until[v] = max(until[v], overwritten(end, writes))
			if f, ok := from[v]; !ok || w.Call < f {
				from[v] = w.Call
			}
		}
	}
	stale = map[int]bool{}
	for i, o := range ops {
		v := register{o.Key, o.Value}
		switch first, written := from[v]; {
		case !o.Read:
		case o.Value != 0 && (!written || first > o.End):
			if len(broken) < mostNamed {
				broken = append(broken, fmt.Sprintf("key %d: path %s %s: %v: nobody had written that", o.Key, o.Path, o.Member, o.KeyOp))
			}
		case o.Path != pathSecondary && len(byKey[o.Key]) > 0 && o.Call > until[v]:
			stale[i] = true
		}
	}
	return stale, broken
}

// overwritten is when the first write was acknowledged that began after a time.
func overwritten(after int64, writes []Op) int64 {
	first := int64(math.MaxInt64)
	for _, w := range writes {
		if w.Outcome == history.Done && w.Call > after {
			first = min(first, w.End)
		}
	}
	return first
}
