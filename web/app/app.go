// Package app has the files of the page at /, a map of the collections: what
// TypeScript in src is built to by `make page` (docs/page.md). They are in the
// program, so that neither building nor serving it needs anything else.
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

// Policy is the Content-Security-Policy that the page keeps to: nothing from
// other servers, no code in HTML, none made of text. MapLibre's worker is a file
// of the page's own; pictures of CSS are data.
const Policy = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// File is a file of the page. Nothing in it may be changed.
type File struct {
	Type string // media type
	// ETag is without its quotes, so that forms of the file can be told apart.
	ETag string
	// Immutable: the name has a hash of what is in it.
	Immutable bool
	Plain     []byte

	once       sync.Once
	compressed []byte
}

// types are the media types of what the page is built to, by the end of the name.
// Those of package mime depend on the machine.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".bin":  "application/octet-stream",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// files are all, by their paths.
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
		panic(err) // They are in the program.
	}
	return all
})

// Open returns the file of a path, such as index.html, or nil.
func Open(name string) *File { return files()[name] }

// Gzip is the file compressed, which is done once, when it is first asked for. It
// is safe for concurrent use.
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
			panic(err) // The level is one, and a buffer takes all.
		}
		f.compressed = b.Bytes()
	})
	return f.compressed
}
