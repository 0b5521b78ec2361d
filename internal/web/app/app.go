// Package app has the files of the page at /, a map of the collections, built by `make
// page` from the TypeScript in src (docs/page.md). They are embedded in the program, so
// neither building nor serving it needs anything else.
package app

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"path"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// Policy is the page's Content-Security-Policy: nothing from other servers, no code in
// HTML, no code made from text. MapLibre's worker is a file of the page; images in CSS
// are data URLs.
const Policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// File is a file of the page. Callers must not change it.
type File struct {
	Type string // media type
	// ETag is without its quotes, so that a suffix can distinguish forms of the file.
	ETag string
	// Immutable: the name has a hash of the content.
	Immutable bool
	Plain     []byte

	once       sync.Once
	compressed []byte
}

// types are the media types of the page's files, by file extension. The types of
// package mime depend on the machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".bin":  "application/octet-stream",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// files has all files by path.
var files = sync.OnceValue(func() map[string]*File {
	all := map[string]*File{}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		name = strings.TrimPrefix(name, "dist/")
		all[name] = &File{
			Type: types[path.Ext(name)], ETag: base64.RawURLEncoding.EncodeToString(sum[:12]),
			Immutable: strings.HasPrefix(name, "assets/"), Plain: b,
		}
		return nil
	})
	if err != nil {
		panic(err) // The files are embedded.
	}
	return all
})

// Open returns the file of a path, such as index.html, or nil.
func Open(name string) *File { return files()[name] }

// Gzip returns the file compressed. The first call compresses it. It is safe for
// concurrent use.
func (f *File) Gzip() []byte {
	f.once.Do(func() {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(f.Plain)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic(err) // The level is valid, and a buffer takes all.
		}
		f.compressed = b.Bytes()
	})
	return f.compressed
}
