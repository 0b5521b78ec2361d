package btree

import "fmt"

// The keys of a benchmark: places from 0 to twice the number of loaded keys. Keys at even
// places are loaded, and stay. Each key at an odd place belongs to one client, which puts
// it and deletes it. So whatever the others do, a client knows of each answer which keys
// are in it, but for the others' odd ones.
const placeShift = 20

func keyAt(place uint64) uint64 { return place<<placeShift | 7 }

// valueOf is the value of each key: the finaliser of SplitMix64.
func valueOf(key uint64) uint64 {
	x := (key ^ key>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// oracle knows what a client's answers must be.
type oracle struct {
	client, clients uint64
	owned           map[uint64]bool // odd places of this client that have a key
}

func newOracle(client, clients int) *oracle {
	return &oracle{uint64(client), uint64(clients), map[uint64]bool{}}
}

// owns reports whether the client puts and deletes the key at a place.
func (o *oracle) owns(place uint64) bool { return place%2 == 1 && place/2%o.clients == o.client }

// must reports whether a key is at a place, for certain; may, whether it can be.
func (o *oracle) must(place uint64) bool { return place%2 == 0 || o.owned[place] }
func (o *oracle) may(place uint64) bool  { return o.must(place) || place%2 == 1 && !o.owns(place) }

// check judges the answer to a range read of the places from first to last.
func (o *oracle) check(items []Item, first, last uint64) error {
	next := first
	for _, it := range items {
		place := it.Key >> placeShift
		if it.Key != keyAt(place) || it.Value != valueOf(it.Key) {
			return fmt.Errorf("places %d to %d: key %d with value %d was never put", first, last, it.Key, it.Value)
		}
		if place < next || place > last {
			return fmt.Errorf("places %d to %d: key of place %d, after that of %d", first, last, place, int64(next)-1)
		}
		if err := o.none(next, place); err != nil {
			return err
		}
		if !o.may(place) {
			return fmt.Errorf("places %d to %d: place %d has a key that was deleted", first, last, place)
		}
		next = place + 1
	}
	return o.none(next, last+1)
}

// none judges that an answer has no key from a place on to before another one.
func (o *oracle) none(from, before uint64) error {
	for p := from; p < before; p++ {
		if o.must(p) {
			return fmt.Errorf("the key of place %d is missing", p)
		}
	}
	return nil
}
