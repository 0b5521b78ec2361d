package rstar_test

import (
	"fmt"
	"iter"
	"log"

	"github.com/catfish-index/catfish/rstar"
)

func Example() {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()

	cafe := rstar.Rect{MinX: 2, MinY: 3, MaxX: 2, MaxY: 3} // a point
	park := rstar.Rect{MinX: 0, MinY: 0, MaxX: 5, MaxY: 4}
	if err := tree.Load([]rstar.Item{{Rect: cafe, ID: 1}, {Rect: park, ID: 2}}); err != nil {
		log.Fatal(err)
	}

	area := rstar.Rect{MinX: 4, MinY: 1, MaxX: 9, MaxY: 9}
	tree.Search(area, func(r rstar.Rect, id uint64) bool {
		fmt.Println("in the area:", id)
		return true
	})

	// The cafe moves; a search sees it at the old or the new place.
	moved := rstar.Rect{MinX: 6, MinY: 6, MaxX: 6, MaxY: 6}
	if _, err := tree.Update(cafe, moved, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println("now in the area:", tree.Count(area))
	// Output:
	// in the area: 2
	// now in the area: 2
}

func ExampleTree_Nearest() {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for id := range uint64(5) {
		x := float64(id)
		if err := tree.Insert(rstar.Rect{MinX: x, MinY: 0, MaxX: x, MaxY: 0}, id); err != nil {
			log.Fatal(err)
		}
	}
	left := 3
	tree.Nearest(3.9, 0, func(r rstar.Rect, id uint64, dist float64) bool {
		fmt.Printf("%d at distance %.1f\n", id, dist)
		left--
		return left > 0
	})
	// Output:
	// 4 at distance 0.1
	// 3 at distance 0.9
	// 2 at distance 1.9
}

// An iterator continues where it stopped: what was found ahead, and the heap,
// are retained. stop must be called.
func ExampleTree_Nearest_iterator() {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for id := range uint64(5) {
		x := float64(id)
		if err := tree.Insert(rstar.Rect{MinX: x, MinY: 0, MaxX: x, MaxY: 0}, id); err != nil {
			log.Fatal(err)
		}
	}
	next, stop := iter.Pull2(func(yield func(rstar.Item, float64) bool) {
		tree.Nearest(3.9, 0, func(r rstar.Rect, id uint64, dist float64) bool {
			return yield(rstar.Item{Rect: r, ID: id}, dist)
		})
	})
	defer stop()
	first, dist, _ := next()
	fmt.Printf("%d at distance %.1f\n", first.ID, dist)
	// ... whatever takes a while ...
	second, dist, _ := next()
	fmt.Printf("%d at distance %.1f\n", second.ID, dist)
	// Output:
	// 4 at distance 0.1
	// 3 at distance 0.9
}

// A remote reader holds copies of bytes, taken here from the slab of a tree that no
// goroutine writes.
func ExampleViewNode() {
	tree, err := rstar.New(rstar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Insert(rstar.Rect{MinX: 1, MinY: 1, MaxX: 2, MaxY: 2}, 42); err != nil {
		log.Fatal(err)
	}
	slab := tree.Memory()

	h, err := rstar.ParseHeader(slab[:rstar.HeaderBytes])
	if err != nil {
		log.Fatal(err)
	}
	bytes := slab[int(h.Root)*h.NodeBytes:][:h.NodeBytes]
	root, err := rstar.ViewNode(bytes, h.Root, h.Height-1, h.Moves)
	if err != nil {
		log.Fatal(err) // ErrTorn: read again; ErrMoved: fetch the header again
	}
	for _, i := range root.AppendHits(nil, rstar.Rect{MinX: 0, MinY: 0, MaxX: 9, MaxY: 9}) {
		fmt.Println(root.Leaf(), root.Ref(int(i)), root.Rect(int(i)))
	}
	// Output: true 42 {1 1 2 2}
}
