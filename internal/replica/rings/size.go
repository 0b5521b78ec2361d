package rings

import (
	"fmt"
	"os"

	"github.com/catfish-index/catfish/internal/hostmem"
	"github.com/catfish-index/catfish/internal/replica/lane"
)

// The size of a ring follows the load of the follower's machine when the lane is opened
// (RDMA_Mongo, section 3.4, Formula 1):
//
//	free   = (1 - throughput/link) * (1 - used/memory)
//	size   = k * S * free     if free < threshold
//	         S                otherwise
//
// As it is printed, a machine without any free memory gets S, the most, because only a factor
// above 0 is scaled; nothing bounds the size from below. Here such a machine gets
// MinAutoBytes. The jump at the threshold, from 0.35 S to S, is the paper's.
const (
	// autoShare is k.
	autoShare = 0.7
	// autoBytes is S: the paper's 50 MB, "determined by oplog size", as a power of two.
	autoBytes = 64 << 20
	// autoThreshold is not printed in the paper.
	autoThreshold = 0.5
	// MinAutoBytes is the least size that Auto returns: some frames of a busy primary.
	MinAutoBytes = 256 << 10
)

// Load is that of a machine. A total that is 0 is not known, and counts as free.
type Load struct {
	Throughput, Link float64 // bytes a second
	Used, Memory     float64 // bytes
}

// free is the paper's loadFactor, from 0 to 1.
func (l Load) free() float64 { return share(l.Throughput, l.Link) * share(l.Used, l.Memory) }

func share(used, of float64) float64 {
	if of <= 0 {
		return 1
	}
	return min(max(1-used/of, 0), 1)
}

// sized is Formula 1 with S bytes.
func (l Load) sized(s float64) float64 {
	if f := l.free(); f < autoThreshold {
		return autoShare * s * f
	}
	return s
}

// Bytes is the size of a ring: whole pages.
func (l Load) Bytes() int {
	page := os.Getpagesize()
	return min(max(int(l.sized(autoBytes))/page*page, MinAutoBytes), autoBytes)
}

// Here is the load of this machine, or of the process's control group if that is limited. The
// network's is not known.
func Here() Load {
	var l Load
	total, known := hostmem.Limit()
	if available, also := hostmem.Available(); known && also {
		l.Memory, l.Used = float64(total), float64(total-available)
	}
	return l
}

// CheckBytes returns an error about the size of a ring.
func CheckBytes(n int) error {
	if n < lane.MinRingBytes || n > lane.MaxRingBytes || n%lane.MinRingBytes != 0 {
		return fmt.Errorf("rings: a ring of %d bytes, allowed are multiples of %d from %d to %d",
			n, lane.MinRingBytes, lane.MinRingBytes, lane.MaxRingBytes)
	}
	return nil
}
