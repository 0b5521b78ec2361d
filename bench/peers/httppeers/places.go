//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places"
)

// region contains all generated points. Within it a float32, as in PostGIS'
// index, is at most 2e-6 degrees wrong (clear in boxes.go).
var region = orb.Bound{Min: orb.Point{-10, 36}, Max: orb.Point{30, 60}}

// perTown is how many places a town has on average: in OpenStreetMap towns of
// 10,000 have as many points with a name or an amenity.
const perTown = 500

// kinds of places, from the most frequent on: the weight of a kind is 1/(its number).
var kinds = []string{
	"restaurant", "bench", "shop", "cafe", "parking", "bus_stop", "school", "pharmacy", "bank", "fuel", "bar", "hotel",
	"post_box", "toilets", "viewpoint", "atm", "doctors", "library", "museum", "cinema",
}

// makePoints returns n points with the properties kind, name and seats: nine in ten
// crowded in towns, the tenth anywhere. The same seed and n give the same points.
func makePoints(n int, seed uint64) []places.Place {
	rng := rand.New(rand.NewPCG(seed, 1))
	type town struct {
		at     orb.Point
		radius float64
	}
	towns := make([]town, max(1, n/perTown))
	for i := range towns {
		towns[i] = town{anywhere(rng), 0.01 * math.Exp(rng.NormFloat64()/2)}
	}
	larger := rand.NewZipf(rng, 1.2, 20, uint64(len(towns)-1))
	total := 0.0
	for i := range kinds {
		total += 1 / float64(i+1)
	}
	all := make([]places.Place, n)
	for i := range all {
		p := anywhere(rng)
		if rng.IntN(10) > 0 {
			t := &towns[larger.Uint64()]
			p = orb.Point{t.at[0] + 1.5*t.radius*rng.NormFloat64(), t.at[1] + t.radius*rng.NormFloat64()}
		}
		kind, w := 0, rng.Float64()*total
		for w -= 1; w > 0 && kind < len(kinds)-1; w -= 1 / float64(kind+1) {
			kind++
		}
		all[i] = places.Place{
			ID:       fmt.Sprintf("node/%d", 1_000_000_000+uint64(i)*7),
			Geometry: round7(p),
			Properties: fmt.Appendf(nil, `{"kind":%q,"name":"%s No. %d","seats":%d}`,
				kinds[kind], kinds[kind], rng.IntN(10_000), 2*rng.IntN(100)),
		}
	}
	return all
}

func anywhere(rng *rand.Rand) orb.Point {
	size := orb.Point{region.Max[0] - region.Min[0], region.Max[1] - region.Min[1]}
	return orb.Point{region.Min[0] + rng.Float64()*size[0], region.Min[1] + rng.Float64()*size[1]}
}

// round7 rounds to seven digits, as OpenStreetMap has them.
func round7(p orb.Point) orb.Point {
	return orb.Point{math.Round(p[0]*1e7) / 1e7, math.Round(p[1]*1e7) / 1e7}
}

// readPlaces reads a file of places.
func readPlaces(path string) (all []places.Place, err error) {
	r, err := places.Open(path, places.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for p, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if p.Geometry == nil || p.ID == "" {
			continue
		}
		if p.Properties == nil {
			p.Properties = json.RawMessage("{}")
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no places", path)
	}
	return all, nil
}

// writePlaces writes places, one feature per line.
func writePlaces(path string, all []places.Place) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = places.Write(f, places.GeoJSONSeq, sequence(all), places.WriteOptions{})
	return err
}

func sequence(all []places.Place) iter.Seq2[places.Place, error] {
	return func(yield func(places.Place, error) bool) {
		for _, p := range all {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// stream calls write with a buffered writer, and returns a reader of its
// output. The reader must be read to its end, or closed.
func stream(write func(w *bufio.Writer) error) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriterSize(w, 1<<20)
		err := write(b)
		if err == nil {
			err = b.Flush()
		}
		w.CloseWithError(err)
	}()
	return r
}
