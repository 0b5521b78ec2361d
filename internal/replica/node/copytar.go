package node

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// What a copy has: the files of a checkpoint, as a tar, whichever way its bytes go.

// lastFile says that all files came: a tar that is cut off between files ends like others.
const lastFile = "END"

// maxFiles bounds the files and directories of a copy: tables of 64 TB.
const maxFiles = 1 << 20

// offer is what the source says of the tar before it.
type offer struct {
	Files int   `json:"files"` // and directories
	Bytes int64 `json:"bytes"` // of all files
}

// check returns an error about an offer that cannot be taken, into a directory.
func (o *offer) check(dir string) error {
	if o.Files < 0 || o.Files > maxFiles || o.Bytes < 0 {
		return fmt.Errorf("it has %d files with %d bytes, want 0 to %d, and 0 or more", o.Files, o.Bytes, maxFiles)
	}
	return disk.CheckRoom(dir, uint64(o.Bytes))
}

// measure is the offer of a checkpoint.
func measure(dir string) (o offer, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		o.Files++
		if d.IsDir() {
			return nil
		}
		i, err := d.Info()
		if err == nil {
			o.Bytes += i.Size()
		}
		return err
	})
	return o, err
}

// pack writes the files of a checkpoint.
func pack(to io.Writer, dir string) error {
	w := tar.NewWriter(to)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	return errors.Join(w.WriteHeader(&tar.Header{Name: lastFile, Mode: 0o600}), w.Close())
}

// unpack writes the files of a tar to a directory, durably, and reads it to its end. It is
// what was offered, at most.
func unpack(from io.Reader, dir string, o offer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := tar.NewReader(from)
	for {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("it ends before all files came")
		case err != nil:
			return err
		case h.Name == lastFile:
			return ended(r, from)
		}
		// A header may stand for a hole: few bytes of the tar become many of a file.
		if o.Files--; o.Files < 0 || h.Size > o.Bytes {
			return fmt.Errorf("with %q of %d bytes it has more than was offered", h.Name, h.Size)
		}
		o.Bytes -= h.Size
		name := filepath.FromSlash(h.Name)
		switch h.FileInfo().Mode().Type() {
		case fs.ModeDir:
			err = root.MkdirAll(name, 0o700)
		case 0:
			err = unpackFile(root, name, r)
		default:
			err = fmt.Errorf("%q is neither file nor directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// ended checks that nothing comes after the last file.
func ended(r *tar.Reader, from io.Reader) error {
	h, err := r.Next()
	if err == nil {
		return fmt.Errorf("%q comes after the last file", h.Name)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	switch _, err = io.ReadFull(from, make([]byte, 1)); {
	case err == nil:
		return errors.New("more comes after its end")
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Sync(), f.Close())
}
