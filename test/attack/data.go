package attack

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// answer is the result of a search, without its order.
type answer struct {
	Count int
	Sum   uint64 // of the ids, mixed
}

func (a *answer) add(id uint64) {
	a.Count++
	// Multiplying by an odd number, and folding, distinguishes sets of ids.
	id *= 0x9e3779b97f4a7c15
	a.Sum += id ^ id>>32
}

// question is a rectangle and its contents.
type question struct {
	rect rstar.Rect
	want answer
}

// The data set is uniform in the unit square, from a fixed seed. Clients ask
// questions about it that find some twenty objects each. They write far
// outside.
const (
	seed      = 16
	questions = 100
	perAnswer = 20
)

// newQuestions finds the answers by a linear scan.
func newQuestions(objects int64) ([]question, error) {
	rects := datasets.UniformRects(seed+1, 0)
	half := math.Sqrt(perAnswer/float64(objects)) / 2
	qs := make([]question, questions)
	for i := range qs {
		r := rects()
		qs[i].rect = rstar.Rect{
			MinX: r.MinX - half, MinY: r.MinY - half, MaxX: r.MinX + half, MaxY: r.MinY + half,
		}
	}
	err := datasets.Uniform(objects, seed).Items(func(it rstar.Item) bool {
		for i := range qs {
			if it.Rect.Intersects(qs[i].rect) {
				qs[i].want.add(it.ID)
			}
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	return qs, nil
}
