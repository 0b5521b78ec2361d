package mongo

import (
	"fmt"
	"io"
	"strings"

	"github.com/catfish-index/catfish/internal/replica/rings"
)

// Formula 1, as printed and as rings are sized
//
//	free = (1 - THR/B) * (1 - U/T)
//	size = k * S * free     if 0 < free < overloadThr
//	       S                otherwise
//
// So a machine of which nothing is free takes the largest buffer, and one of which a little is
// free takes next to none. rings.Load bounds both: nothing free is the least size, and no size
// is below that. overloadThr is not printed; both forms have that of rings.
const (
	formulaShare     = 0.7
	formulaBytes     = 64 << 20 // S: the paper has 50 MB
	formulaThreshold = 0.5
	connections      = 400 // of figure 11
)

// Size is a row of the comparison.
type Size struct {
	Memory  float64 `json:"memory_used"` // U/T
	Link    float64 `json:"link_used"`   // THR/B
	Printed int     `json:"printed_bytes"`
	Bytes   int     `json:"bytes"`
}

// Sizes are both forms at different loads.
func Sizes() (all []Size) {
	shares := []float64{0, 0.25, 0.5, 0.75, 0.9, 0.99, 1}
	for _, link := range []float64{0, 0.5, 1} {
		for _, memory := range shares {
			l := rings.Load{Throughput: link, Link: 1, Used: memory, Memory: 1}
			all = append(all, Size{memory, link, printed(memory, link), l.Bytes()})
		}
		if link == 0.5 { // With a full link nothing is free, whatever the memory.
			shares = shares[:1]
		}
	}
	return all
}

func printed(memory, link float64) int {
	if free := (1 - link) * (1 - memory); free > 0 && free < formulaThreshold {
		return int(formulaShare * formulaBytes * free)
	}
	return formulaBytes
}

// WriteSizes writes them in Markdown, with the memory of as many connections as figure 11 has.
func WriteSizes(w io.Writer, sizes []Size) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| memory used | link used | as printed, KiB | of %d connections, GiB | here, KiB |\n|---|---|---|---|---|\n", connections)
	for _, s := range sizes {
		fmt.Fprintf(&b, "| %.0f %% | %.0f %% | %d | %.2f | %d |\n", 100*s.Memory, 100*s.Link,
			s.Printed>>10, connections*float64(s.Printed)/(1<<30), s.Bytes>>10)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
