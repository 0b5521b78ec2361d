package datasets

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// deflated returns a PBF blob with content compressed by zlib.
func deflated(t testing.TB, data string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return blobFrame("OSMData", message(2, len(data), 3, b.String()))
}

// nodesBlob holds n dense nodes, each with the id one above the last.
func nodesBlob(t testing.TB, n int) string {
	t.Helper()
	ids, zeros := strings.Repeat("\x02", n), strings.Repeat("\x00", n)
	return deflated(t, message(2, message(2, message(1, ids, 8, zeros, 9, zeros))))
}

// TestPBFBomb: a file of some kilobytes that unpacks to gigabytes is refused
// for the memory that it would take, and has not taken more.
func TestPBFBomb(t *testing.T) {
	const limit = 8 << 20
	blob := nodesBlob(t, 1<<20) // 16 MiB of positions
	bomb := frame("OSMHeader", "") + strings.Repeat(blob, 30)
	if len(bomb) > 1<<20 {
		t.Fatalf("a bomb of %d bytes is none", len(bomb))
	}
	path := write(t, "bomb.osm.pbf", bomb)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Collect(open(t, path, Options{MemoryBytes: limit}))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(limit)) ||
		!strings.Contains(err.Error(), "--read-memory") {
		t.Errorf("%v, want ErrTooLarge that names the limit and the flag", err)
	}
	// The blob is unpacked into a buffer that doubles: at most 8 MiB and its
	// half, twice over as the first halves are garbage.
	if took := after.TotalAlloc - before.TotalAlloc; took > limit+32<<20 {
		t.Errorf("%d bytes were allocated", took)
	}
	if _, err := Collect(open(t, path, Options{OSM: TaggedNodes, MemoryBytes: 1})); err != nil {
		t.Errorf("nodes that need not be kept: %v", err)
	}
}

func TestMemoryLimits(t *testing.T) {
	const header = "OSMHeader"
	way := deflated(t, message(2, message(3, message(1, 7, 8, strings.Repeat("\x00", 1<<20+1)))))
	const feature = 1 << 20
	huge := strings.Repeat("1", feature+1<<16)
	var nodes strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&nodes, "%d 0 0\n", i)
	}
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	road := write("r.cnode", nodes.String())
	if err := os.WriteFile(strings.TrimSuffix(road, "cnode")+"cedge", []byte("1 1 2 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	unsorted := frame(header, "") + osmData(message(1, message(1, zigzag(9), 8, zigzag(0), 9, zigzag(0)))+
		message(1, message(1, zigzag(5), 8, zigzag(0), 9, zigzag(0)))+message(3, message(1, 1, 8, packed(9, -4))))
	const osmNodeBytes, oneChunk = 16, 16 << 10 // of 1024 nodes
	for _, c := range []struct {
		name, path string
		memory     int64
		kind       error
		says       string
	}{
		{"nodes of a way", write("way.osm.pbf", frame(header, "")+way), 0, ErrTooLarge, fmt.Sprint(1 << 20)},
		{"nodes of a road network", road, 1000*roadNodeBytes - 1, ErrTooLarge, fmt.Sprint(1000*roadNodeBytes - 1)},
		{"just enough", road, 1000 * roadNodeBytes, nil, ""},
		{"unsorted nodes", write("u.osm.pbf", unsorted), oneChunk + 2*osmNodeBytes - 1, ErrTooLarge, "not sorted"},
		{"unsorted nodes, enough", write("u.osm.pbf", unsorted), oneChunk + 2*osmNodeBytes, nil, ""},
		{"a long number", write("n.geojson", `{"type":"Point","coordinates":[`+huge), feature, ErrTooLarge, fmt.Sprint(feature)},
		{"a long text", write("t.geojson", `{"type":"FeatureCollection","name":"`+huge), feature, ErrTooLarge, fmt.Sprint(feature)},
		{"a long key", write("k.geojson", `{"`+huge), feature, ErrTooLarge, fmt.Sprint(feature)},
		{"deep brackets", write("d.geojson", `{"type":"Point","coordinates":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+"}"), 0, ErrSyntax, "depth"},
		{"deep objects", write("o.geojson", strings.Repeat(`{"a":`, 1<<20)), 0, ErrTruncated, "ends too early"},
		{"a long line", write("l.csv", "id,x,y\n"+huge), 0, ErrSyntax, "4096"},
		{"no line at all", write("m.csv", huge), 0, ErrSyntax, "4096"},
	} {
		_, err := Collect(open(t, c.path, Options{MemoryBytes: c.memory}))
		if !errors.Is(err, c.kind) || c.kind != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v that says %q", c.name, err, c.kind, c.says)
		}
	}
	if _, err := Open("uniform", Options{MemoryBytes: -1}); !errors.Is(err, ErrOption) {
		t.Errorf("negative memory: %v", err)
	}
}

// TestManyFeatures: the limit is of one feature, not of the file.
func TestManyFeatures(t *testing.T) {
	long := `{"type":"Feature","properties":{"p":"` + strings.Repeat("x", 100_000) +
		`"},"geometry":{"type":"Point","coordinates":[1,2]}}`
	path := write(t, "f.geojson", strings.Repeat(long, 50))
	if items := collect(t, open(t, path, Options{MemoryBytes: 1 << 20})); len(items) != 50 {
		t.Errorf("%d items", len(items))
	}
}

// TestGather: items that do not fit are refused before memory for them is taken.
func TestGather(t *testing.T) {
	counted := Uniform(400_000_000, 1) // 16 GB of items
	file := &Source{name: "file", count: Unknown}
	file.pass = func(p *pass) error {
		for i := range uint64(1 << 20) {
			if err := p.deliver(unitSquare, i); err != nil {
				return err
			}
		}
		return nil
	}
	left := func(n int64) func() (int64, bool) {
		return func() (int64, bool) { return n, true }
	}
	for _, c := range []struct {
		name  string
		from  *Source
		g     Gather
		items int
		kind  error
		says  string
	}{
		{"more than memory", counted, Gather{available: left(1 << 30)}, 0, ErrTooLarge, "enough for 26843545"},
		{"more than there may be", counted, Gather{Most: 1000}, 0, ErrTooMany, "no more than 1000 fit, uniform has 400000000"},
		{"found while reading", file, Gather{Most: 1000}, 1000, ErrTooMany, "no more than 1000"},
		{"memory while reading", file, Gather{BytesEach: 60, available: left(1 << 20)}, -1, ErrTooLarge, "file"},
		{"unknown memory", file, Gather{available: func() (int64, bool) { return 0, false }}, 1 << 20, nil, ""},
		{"exactly as many", file, Gather{Most: 1 << 20, available: left(1 << 30)}, 1 << 20, nil, ""},
		{"an absurd number", Uniform(1<<62, 1), Gather{}, 0, ErrTooLarge, "objects of uniform"},
	} {
		err := c.g.Read(c.from)
		if !errors.Is(err, c.kind) || c.kind != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v that says %q", c.name, err, c.kind, c.says)
		}
		got := len(c.g.Items())
		if c.items >= 0 && got != c.items || c.items < 0 && (got == 0 || got*100 > 1<<20) {
			t.Errorf("%s: %d items, want %d", c.name, got, c.items)
		}
	}
	// Two sources share the room.
	g := Gather{Most: 15}
	if err := errors.Join(g.Read(Uniform(10, 1)), g.Read(FromItems("more", make([]rstar.Item, 5)))); err != nil {
		t.Error(err)
	}
	if err := g.Read(Uniform(1, 1)); !errors.Is(err, ErrTooMany) || len(g.Items()) != 15 {
		t.Errorf("%v with %d items", err, len(g.Items()))
	}
}
