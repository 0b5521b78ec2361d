package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/bench/harness"
)

// Op is a kind of operation in a workload.
type Op uint8

// The operations, in the order in which Mix.String lists them.
const (
	Search Op = iota
	Nearest
	Insert
	Delete
	Update
	numOps
)

var opNames = [numOps]string{"search", "nearest", "insert", "delete", "update"}

// String returns the name that ParseMix takes.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "op" + strconv.Itoa(int(o))
}

// Mix gives each operation's share of a workload in percent.
type Mix [numOps]int

// SearchOnly is the default mix.
var SearchOnly = Mix{Search: 100}

// ParseMix reads shares such as "search=90,insert=10". They are whole
// percentages and add up to 100. Errors wrap harness.ErrConfig.
func ParseMix(text string) (Mix, error) {
	var m Mix
	var seen [numOps]bool
	sum := 0
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		op := slices.Index(opNames[:], name)
		if !ok || op < 0 {
			return Mix{}, fmt.Errorf(
				"%w: mix %q: %q is not operation=percent, with an operation of %s",
				harness.ErrConfig, text, part, strings.Join(opNames[:], ", "))
		}
		share, err := strconv.Atoi(value)
		if err != nil || share < 0 || share > 100 {
			return Mix{}, fmt.Errorf("%w: mix %q: %q is no share from 0 to 100",
				harness.ErrConfig, text, value)
		}
		if seen[op] {
			return Mix{}, fmt.Errorf("%w: mix %q: %s occurs twice",
				harness.ErrConfig, text, name)
		}
		seen[op] = true
		m[op] = share
		sum += share
	}
	if sum != 100 {
		return Mix{}, fmt.Errorf("%w: mix %q: the shares add up to %d, want 100",
			harness.ErrConfig, text, sum)
	}
	return m, nil
}

// String returns the mix as ParseMix reads it, without zero shares.
func (m Mix) String() string {
	var parts []string
	for op, share := range m {
		if share > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", opNames[op], share))
		}
	}
	return strings.Join(parts, ",")
}

// ReadOnly reports whether the mix leaves the data as it is.
func (m Mix) ReadOnly() bool { return m[Insert]+m[Delete]+m[Update] == 0 }

// needsStock reports whether goroutines need objects of their own to
// delete or move.
func (m Mix) needsStock() bool { return m[Delete]+m[Update] > 0 }

// sequence returns operations in the exact proportions of the mix, in
// random order, to be walked in circles.
func (m Mix) sequence(rng *rand.Rand) []Op {
	// Ten rounds of the hundred percent, so that the period is longer than the
	// stretch that a goroutine shares with its neighbours.
	const rounds = 10
	var ops []Op
	for op, share := range m {
		ops = append(ops, slices.Repeat([]Op{Op(op)}, share*rounds)...)
	}
	rng.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return ops
}
