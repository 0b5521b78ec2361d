//go:build clients

package webclients

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/places"
)

// The collections that are served, by name: countries are borders (some across 180
// degrees), kinds has each type of geometry and of property, andorra is real and has
// 29,149 features of 500 properties.
var loaded = []struct {
	name, file, id string
}{
	{"countries", "../../datasets/testdata/countries.geojson", "id"},
	{"kinds", "testdata/kinds.geojson", "id"},
	{"andorra", "../../datasets/testdata/andorra.osm.pbf", ""},
}

// site is the address of the server, such as http://127.0.0.1:1234.
var site string

// ends bounds the time of any command, in case one never ends.
const ends = 5 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(func() int {
		stop, err := serve()
		if err != nil {
			fmt.Fprintln(os.Stderr, "webclients:", err)
			return 1
		}
		code := m.Run()
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "webclients: the server:", err)
			return 1
		}
		return code
	}())
}

// serve starts a server with all collections.
func serve() (stop func() error, err error) {
	bin := cmp.Or(os.Getenv("CATFISH_BIN"), "../../bin/catfish")
	c := exec.Command(bin, "serve", "--listen", "127.0.0.1:0", "--transport", "tcp", "--http", "127.0.0.1:0",
		"--collection", loaded[0].name, "--load", loaded[0].file, "--id", loaded[0].id)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("%w: make build makes it", err)
	}
	stop = func() error {
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return c.Wait()
	}
	r := bufio.NewReader(out)
	ready, err := r.ReadString('\n')
	fields := map[string]string{}
	for _, f := range strings.Fields(ready) {
		name, value, _ := strings.Cut(f, "=")
		fields[name] = value
	}
	if fields["addr"] == "" || fields["http"] == "" {
		return nil, fmt.Errorf("it said %q, %w, want a ready line with addr and http", ready, cmp.Or(err, stop()))
	}
	go func() { _, _ = io.Copy(io.Discard, r) }() // It must not wait for a reader.
	site = "http://" + fields["http"]
	for _, l := range loaded[1:] {
		args := []string{"load", l.file, "--collection", l.name, "--server", fields["addr"], "--transport", "tcp"}
		if l.id != "" {
			args = append(args, "--id", l.id)
		}
		if out, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
			_ = stop()
			return nil, fmt.Errorf("load %s: %w: %s", l.file, err, out)
		}
	}
	return stop, nil
}

// run returns the output of a command. It fails the test with all the output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ends)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "no_proxy=127.0.0.1", "NO_PROXY=127.0.0.1")
	var out, problems bytes.Buffer
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%.3000s\n%.3000s", name, strings.Join(args, " "), err, problems.String(), out.String())
	}
	if s := strings.TrimSpace(problems.String()); s != "" {
		t.Logf("%s: %.1000s", name, s)
	}
	return out.String()
}

// get decodes the document at an address below the server.
func get(t *testing.T, path string, into any) {
	t.Helper()
	target := path
	if !strings.HasPrefix(path, "http") {
		target = site + path
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v: %.500s", target, res.Status, err, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("GET %s: %v: %.500s", target, err, b)
	}
}

// idsWithin returns the server's ids for a box, with more parameters.
func idsWithin(t *testing.T, collection string, west, south, east, north float64, more ...string) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	next := fmt.Sprintf("/collections/%s/items?limit=10000&numberMatched=false&bbox=%v,%v,%v,%v", url.PathEscape(collection), west, south, east, north) + strings.Join(more, "")
	for next != "" {
		var page struct {
			Features []struct{ ID string }
			Links    []struct{ Rel, Href string }
		}
		get(t, next, &page)
		for _, f := range page.Features {
			ids[f.ID] = true
		}
		next = ""
		for _, l := range page.Links {
			if l.Rel == "next" {
				next = l.Href
			}
		}
	}
	return ids
}

// original is a file that GDAL can read, with the source of a collection: the
// file itself, or for OpenStreetMap, of which GDAL makes other features, the
// output of catfish's reader, as GeoJSON.
func original(t *testing.T, i int) string {
	t.Helper()
	if filepath.Ext(loaded[i].file) == ".geojson" {
		return loaded[i].file
	}
	r, err := places.Open(loaded[i].file, places.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all bytes.Buffer
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		b, err := feature.Append(nil, p.Geometry, p.Properties)
		if err != nil {
			t.Fatal(err)
		}
		v, err := feature.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(v.AppendGeoJSON(nil, p.ID))
		all.WriteByte('\n')
	}
	name := filepath.Join(t.TempDir(), loaded[i].name+".geojsonl")
	if err := os.WriteFile(name, all.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
