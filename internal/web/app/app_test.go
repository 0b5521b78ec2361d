package app

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"
)

// Every file that index.html refers to exists, with a type that browsers accept, and
// the page refers to nothing on other servers.
func TestFiles(t *testing.T) {
	index := Open("index.html")
	if index == nil || index.Immutable || index.Type != "text/html; charset=utf-8" {
		t.Fatalf("index.html: %+v", index)
	}
	seen := 0
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(index.Plain), -1) {
		name, ok := strings.CutPrefix(m[1], "./")
		if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "/") {
			t.Errorf("index.html refers to %s", m[1])
		}
		if !ok {
			continue // a page of the server
		}
		seen++
		if f := Open(name); f == nil || !f.Immutable || f.Type == "" || f.ETag == index.ETag {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if seen < 3 {
		t.Errorf("index.html refers to %d files", seen)
	}
	for name, f := range files() {
		if f.Type == "" {
			t.Errorf("%s has no media type", name)
		}
	}
	if Open("assets/none.js") != nil || Open("") != nil || Open("..") != nil {
		t.Error("a file that is not there")
	}
}

// A browser with an empty cache takes less than 1.5 MB, for all files.
func TestSize(t *testing.T) {
	total := 0
	for name, f := range files() {
		total += len(f.Gzip())
		r, err := gzip.NewReader(bytes.NewReader(f.Gzip()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, f.Plain) {
			t.Errorf("%s: gzip gives %d bytes of %d, %v", name, len(b), len(f.Plain), err)
		}
	}
	if total > 1_500_000 {
		t.Errorf("the page takes %d bytes", total)
	}
}

// The HTML has no code and no style of its own: the policy forbids them.
func TestPolicy(t *testing.T) {
	page := string(Open("index.html").Plain)
	for _, bad := range []string{"<style", "style=", "onclick", "<script>"} {
		if strings.Contains(page, bad) {
			t.Errorf("index.html has %s", bad)
		}
	}
	for _, bad := range []string{"unsafe", "*", "http"} {
		if strings.Contains(Policy, bad) {
			t.Errorf("the policy allows %s: %s", bad, Policy)
		}
	}
}
