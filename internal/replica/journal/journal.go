// Package journal keeps the end of a group's log on the disk of a member: entries that are
// not committed yet, so that they can be taken back, and those that are not durable in the
// store yet.
//
//	journal/
//	  00000001  | head: first revision, history before it | entry | entry | ...
//	  00000002  | head                                    | entry | ...
//	  CLEAN     the last revision, if the member was stopped in order
//
// The store gets entries when they are committed, and is what readers see; so what a
// deposed primary has to undo was never in it. A record is
//
//	0 length u32 | 4 CRC-32C u32 of what follows | 8 revision u64 | 16 entry (disk.Entry.Append)
//
// A record that is cut off by the end of the last file was never acknowledged as durable:
// a crash cut it off, and it is removed. Any other damage is ErrCorrupt.
package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// ErrCorrupt: the files are not as they were written.
var ErrCorrupt = errors.New("journal: corrupt")

const (
	recordHead = 4 + 4 + 8
	cleanName  = "CLEAN"
	// maxRecord is more than the longest entry takes.
	maxRecord = 2*disk.MaxValueBytes + disk.MaxKeyBytes + 1<<10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// State is what a journal had when it was opened.
type State struct {
	Entries []disk.Entry // all of them, without gaps
	First   uint64       // the revision of the first one, or of the next if there are none
	History replica.History
	Clean   bool // it was closed in order
}

// End is the last revision.
func (s *State) End() uint64 { return s.First + uint64(len(s.Entries)) - 1 }

// Journal is for one goroutine.
type Journal struct {
	dir   string
	files []file // the last one is written
	end   uint64
	buf   []byte
	err   error // that of a write, after which nothing is written
}

type file struct {
	number uint64
	f      *os.File
	first  uint64
	at     []int64 // where the records begin
	size   int64
}

func (f *file) last() uint64 { return f.first + uint64(len(f.at)) - 1 }

// Open opens the journal in a directory, which it makes if it does not exist. A new
// one begins after the last revision of the store, whose history is h.
func Open(dir string, last uint64, h replica.History) (*Journal, *State, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{dir: dir}
	s, err := j.load()
	if err == nil && (len(j.files) == 0 || s.End() < last) {
		// Nothing of it is left that the store does not have.
		err = j.Restart(last, h)
		s = &State{First: last + 1, History: h}
	}
	if err == nil {
		err = os.Remove(filepath.Join(dir, cleanName))
		if s.Clean = err == nil && s.Clean; errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		j.closeFiles()
		return nil, nil, err
	}
	return j, s, nil
}

// End is the last revision.
func (j *Journal) End() uint64 { return j.end }

// Append writes entries, whose revisions continue. Sync makes them durable.
func (j *Journal) Append(entries []disk.Entry) error {
	if j.err != nil {
		return j.err
	}
	f := &j.files[len(j.files)-1]
	j.buf = j.buf[:0]
	for i := range entries {
		e := &entries[i]
		if e.Revision != j.end+1 {
			return fmt.Errorf("journal: revision %d after %d", e.Revision, j.end)
		}
		f.at = append(f.at, f.size+int64(len(j.buf)))
		j.buf = appendRecord(j.buf, e)
		j.end++
	}
	if _, err := f.f.WriteAt(j.buf, f.size); err != nil {
		return j.fail(err)
	}
	f.size += int64(len(j.buf))
	return nil
}

func appendRecord(b []byte, e *disk.Entry) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = e.Append(b)
	r := b[at:]
	binary.LittleEndian.PutUint32(r, uint32(len(r)-8))
	binary.LittleEndian.PutUint64(r[8:], e.Revision)
	binary.LittleEndian.PutUint32(r[4:], crc32.Checksum(r[8:], castagnoli))
	return b
}

// Sync makes all that was appended durable.
func (j *Journal) Sync() error {
	if j.err != nil {
		return j.err
	}
	if err := j.files[len(j.files)-1].f.Sync(); err != nil {
		return j.fail(err)
	}
	return nil
}

// Truncate takes back the entries after a revision, durably.
func (j *Journal) Truncate(after uint64) error {
	for j.err == nil && j.end > after {
		f := &j.files[len(j.files)-1]
		if f.first > after && len(j.files) > 1 {
			_ = j.fail(errors.Join(f.f.Close(), os.Remove(f.f.Name()), syncDir(j.dir)))
			j.files = j.files[:len(j.files)-1]
			j.end = f.first - 1
			continue
		}
		keep := int(after + 1 - f.first)
		if after+1 < f.first {
			return j.fail(fmt.Errorf("journal: truncating after %d, it begins with %d", after, f.first))
		}
		f.size = f.at[keep]
		f.at = f.at[:keep]
		j.end = after
		_ = j.fail(errors.Join(f.f.Truncate(f.size), f.f.Sync()))
	}
	return j.err
}

// Bytes is the size of the newest file.
func (j *Journal) Bytes() int64 { return j.files[len(j.files)-1].size }

// Rotate begins a file. The history is that of all entries so far.
func (j *Journal) Rotate(h replica.History) error {
	if err := j.Sync(); err != nil {
		return err
	}
	return j.fail(j.begin(j.end+1, h))
}

// Forget removes files whose entries the store has made durable, up to and with a
// revision.
func (j *Journal) Forget(durable uint64) error {
	for j.err == nil && len(j.files) > 1 && j.files[0].last() <= durable {
		f := j.files[0]
		_ = j.fail(errors.Join(f.f.Close(), os.Remove(f.f.Name())))
		j.files = slices.Delete(j.files, 0, 1)
	}
	return j.err
}

// Restart removes all entries, and begins after a revision.
func (j *Journal) Restart(last uint64, h replica.History) error {
	old := j.files
	if err := j.begin(last+1, h); err != nil {
		return j.fail(err)
	}
	for i := range old {
		_ = j.fail(errors.Join(old[i].f.Close(), os.Remove(old[i].f.Name())))
	}
	j.files = j.files[len(j.files)-1:]
	j.end = last
	_ = j.fail(syncDir(j.dir))
	return j.err
}

// Close makes everything durable, and notes that nothing was lost, unless an earlier boot
// may have lost something.
func (j *Journal) Close(doubt bool) error {
	err := j.Sync()
	if err == nil && !doubt {
		err = writeDurably(filepath.Join(j.dir, cleanName), []byte(strconv.FormatUint(j.end, 10)))
	}
	j.closeFiles()
	return err
}

func (j *Journal) closeFiles() {
	for _, f := range j.files {
		_ = f.f.Close()
	}
	j.files = nil
}

// fail keeps the first error.
func (j *Journal) fail(err error) error {
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("journal: %s: %w", j.dir, err)
	}
	return j.err
}

// begin makes a file.
func (j *Journal) begin(first uint64, h replica.History) error {
	number := uint64(1)
	if n := len(j.files); n > 0 {
		number = j.files[n-1].number + 1
	}
	path := filepath.Join(j.dir, fmt.Sprintf("%08d", number))
	head := appendHead(nil, first, h)
	if err := writeDurably(path, head); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	j.files = append(j.files, file{number: number, f: f, first: first, size: int64(len(head))})
	return nil
}

// load reads all files.
func (j *Journal) load() (*State, error) {
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	s := &State{First: 1}
	var numbers []uint64
	for _, n := range names {
		if number, err := strconv.ParseUint(n.Name(), 10, 64); err == nil {
			numbers = append(numbers, number)
		} else if strings.HasSuffix(n.Name(), newSuffix) {
			_ = os.Remove(filepath.Join(j.dir, n.Name()))
		}
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		f, err := os.OpenFile(filepath.Join(j.dir, fmt.Sprintf("%08d", number)), os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		j.files = append(j.files, file{number: number, f: f})
		if err := j.read(s, i == 0, i == len(numbers)-1); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	j.end = s.End()
	// The last write may have lost its last entries, which were not durable then.
	after := j.end
	for n := len(s.Entries); n > 0 && s.Entries[n-1].Flags&disk.Continues != 0; n-- {
		s.Entries = s.Entries[:n-1]
		after--
	}
	if after < j.end {
		s.History = replica.Cut(s.History, after)
		if err := j.Truncate(after); err != nil {
			return nil, err
		}
	}
	if b, err := os.ReadFile(filepath.Join(j.dir, cleanName)); err == nil {
		s.Clean = string(b) == strconv.FormatUint(j.end, 10)
	}
	return s, nil
}

// read reads the newest of files, of which it is the first, the last, or both.
func (j *Journal) read(s *State, first, last bool) error {
	f := &j.files[len(j.files)-1]
	b, err := os.ReadFile(f.f.Name())
	if err != nil {
		return err
	}
	n, begin, h, err := parseHead(b)
	if err != nil {
		return err
	}
	if first {
		s.First, s.History = begin, h
	} else if begin != s.End()+1 {
		return fmt.Errorf("%w: it begins with revision %d after %d", ErrCorrupt, begin, s.End())
	}
	f.first, f.size = begin, int64(n)
	for f.size < int64(len(b)) {
		rest := b[f.size:]
		e, size, err := parseRecord(rest, s.End()+1)
		if err != nil && last && cutOff(rest) {
			return f.f.Truncate(f.size)
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", f.size, err)
		}
		f.at = append(f.at, f.size)
		f.size += int64(size)
		s.History = replica.Replay(s.History, e.Term(), e.Revision)
		s.Entries = append(s.Entries, e)
	}
	return nil
}

// parseRecord reads a record, and returns its length.
func parseRecord(b []byte, revision uint64) (disk.Entry, int, error) {
	if len(b) < recordHead {
		return disk.Entry{}, 0, fmt.Errorf("%w: a record of %d bytes", ErrCorrupt, len(b))
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < recordHead-8 || n > maxRecord || n > len(b)-8 {
		return disk.Entry{}, 0, fmt.Errorf("%w: a record of %d bytes, %d are left", ErrCorrupt, n, len(b)-8)
	}
	r := b[8 : 8+n]
	if sum := binary.LittleEndian.Uint32(b[4:]); sum != crc32.Checksum(r, castagnoli) {
		return disk.Entry{}, 0, fmt.Errorf("%w: the sum of revision %d", ErrCorrupt, revision)
	}
	if has := binary.LittleEndian.Uint64(r); has != revision {
		return disk.Entry{}, 0, fmt.Errorf("%w: revision %d, want %d", ErrCorrupt, has, revision)
	}
	e, err := disk.ParseEntry(revision, r[8:])
	if err != nil {
		return e, 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return e, 8 + n, nil
}

// cutOff reports whether a record that cannot be read is the last one, of which a crash
// may have left any part: its own length, or that of all that follows, says so.
func cutOff(b []byte) bool {
	for at := 1; at+recordHead <= len(b); at++ {
		n := int64(binary.LittleEndian.Uint32(b[at:]))
		if n < recordHead-8 || n > int64(len(b)-at-8) {
			continue
		}
		r := b[at+8 : at+8+int(n)]
		if binary.LittleEndian.Uint32(b[at+4:]) == crc32.Checksum(r, castagnoli) {
			return false // A whole record follows.
		}
	}
	return true
}
