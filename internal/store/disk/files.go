package disk

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A walFile is a file of Pebble's WAL, open for reading.
type walFile struct {
	vfs.File
	name   string
	number uint64
}

// eachWALFile calls f with each, the oldest first.
func eachWALFile(fs vfs.FS, dir string, f func(walFile) error) error {
	names, err := fs.List(dir)
	if err != nil && !oserror.IsNotExist(err) {
		return err
	}
	var files []walFile
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, ".log")
		if number, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			files = append(files, walFile{name: name, number: number})
		}
	}
	slices.SortFunc(files, func(a, b walFile) int { return cmp.Compare(a.number, b.number) })
	for _, w := range files {
		if w.File, err = fs.Open(fs.PathJoin(dir, w.name), vfs.SequentialReadsOption); err != nil {
			return err
		}
		if err := errors.Join(f(w), w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// records reads the file's records, up to the first that cannot be read: their bytes,
// and the offset of that one.
func (f walFile) records() (bytes, end uint64) {
	r := newReader(record.NewReader, f, f.number)
	for {
		one, err := r.Next()
		if err != nil {
			return bytes, end
		}
		n, err := io.Copy(io.Discard, one)
		if err != nil {
			return bytes, end
		}
		bytes += uint64(n)
		end = uint64(r.Offset())
	}
}

// newReader exists because the type of a file's number has no name outside of Pebble.
func newReader[N ~uint64](of func(io.Reader, N) *record.Reader, r io.Reader, number uint64) *record.Reader {
	return of(r, N(number))
}

// writeDurably writes a file so that it exists whole or not at all.
func writeDurably(fs vfs.FS, dir, name string, b []byte) error {
	name = fs.PathJoin(dir, name)
	f, err := fs.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(name+".tmp", name); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// isTable: Pebble writes such a file once, and never changes it.
func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}
