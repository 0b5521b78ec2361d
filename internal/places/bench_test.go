package places

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// BenchmarkRead reads whole inputs: real outlines and OpenStreetMap, and a
// table and lines of 10,000 points with three properties.
func BenchmarkRead(b *testing.B) {
	countries, err := os.ReadFile("../../datasets/testdata/countries.geojson")
	if err != nil {
		b.Fatal(err)
	}
	andorra, err := os.ReadFile("../../datasets/testdata/andorra.osm.pbf")
	if err != nil {
		b.Fatal(err)
	}
	row := []byte("cafe/12345,1.5223344,42.5066778,Bar del Sol,20,bar\n")
	table := append([]byte("id,lon,lat,name,seats,kind\n"), bytes.Repeat(row, 10_000)...)
	line := []byte(`{"type":"Feature","id":"cafe/12345","geometry":{"type":"Point","coordinates":[1.5223344,42.5066778]},` +
		`"properties":{"name":"Bar del Sol","seats":20,"kind":"bar"}}` + "\n")
	for _, c := range []struct {
		name   string
		format Format
		data   []byte
	}{
		{"countries", GeoJSON, countries}, {"points", GeoJSONSeq, bytes.Repeat(line, 10_000)},
		{"table", CSV, table}, {"andorra", OSMPBF, andorra},
	} {
		b.Run("file="+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			places := 0
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(c.data), c.name, Options{Format: c.format})
				for places = 0; err == nil; places++ { // reads the end, too
					_, err = r.Next()
				}
				if err != io.EOF {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(places-1)*float64(b.N)/b.Elapsed().Seconds(), "places/s")
		})
	}
}
