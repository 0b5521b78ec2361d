package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A seal says which revision was durable, so that a start notices when it is missing.
//
// Pebble ends its replay of the WAL at the first chunk that it cannot read, and takes
// the rest for a write that a crash has cut. It reads its MANIFEST in the same way.
// Only a record that was written elsewhere, or later, says whether the end of the log
// is the end of the acknowledged writes:
//
//	file SEAL    two records, at 0 and 4096, written alternately after each sync of
//	             the WAL. It is not synced itself, so it is exact after the end of
//	             a process; after a power loss it may be older than the WAL, and is
//	             never newer.
//	in the WAL   each batch carries the seal of the batch before, which replay
//	             ignores. A start scans the WAL's files for its bytes, so it does
//	             not depend on Pebble's chunks. After a power loss these are the newest.
//
//	record | magic u64 | store id 16 bytes | revision u64 | sum u64 | crc u32 |
//
// The sum is that of the revision's entry in the log, so another history with the
// same numbers is noticed as well. The crc is CRC-32C of all before it.
//
// No seal shows damage to the last batch before a power loss, if SEAL had not
// reached the disk either. That looks like a write that was never finished.

// A mark is a revision and the sum of its entry; 0, 0: none yet.
type mark struct {
	revision uint64
	sum      uint64
}

// An atomicMark is set by one goroutine at a time.
type atomicMark struct {
	mu sync.Mutex
	m  mark
}

func (a *atomicMark) store(m mark) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.m = m
}

func (a *atomicMark) load() mark {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.m
}

const (
	sealName     = "SEAL"
	sealMagic    = 0x314c414553544143 // "CATSEAL1", little-endian
	sealBytes    = 8 + 16 + 8 + 8 + 4
	sealSlot     = 4096 // apart, so that a write that is cut spoils one of them
	sealFileSize = 2 * sealSlot
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendSeal(b []byte, store [16]byte, m mark) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint64(b, sealMagic)
	b = append(b, store[:]...)
	b = binary.LittleEndian.AppendUint64(b, m.revision)
	b = binary.LittleEndian.AppendUint64(b, m.sum)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// parseSeal reads a record at the beginning of b.
func parseSeal(b []byte, store [16]byte) (m mark, ok bool) {
	le := binary.LittleEndian
	if len(b) < sealBytes || le.Uint64(b) != sealMagic || !bytes.Equal(b[8:24], store[:]) ||
		le.Uint32(b[sealBytes-4:]) != crc32.Checksum(b[:sealBytes-4], castagnoli) {
		return m, false
	}
	return mark{le.Uint64(b[24:]), le.Uint64(b[32:])}, true
}

// later returns the later-set one of two marks.
func later(a, b mark) mark {
	if b.revision > a.revision {
		return b
	}
	return a
}

// A sealer writes the file SEAL.
type sealer struct {
	mu    sync.Mutex
	f     vfs.File
	store [16]byte
	last  mark
	slot  int64
	buf   []byte
}

// createSealer makes the file, durably.
func createSealer(fs vfs.FS, dir string, store [16]byte, m mark) (*sealer, error) {
	page := make([]byte, sealFileSize)
	copy(page, appendSeal(nil, store, m))
	copy(page[sealSlot:], appendSeal(nil, store, m))
	if err := writeDurably(fs, dir, sealName, page); err != nil {
		return nil, err
	}
	return openSealer(fs, dir, store, m)
}

func openSealer(fs vfs.FS, dir string, store [16]byte, m mark) (*sealer, error) {
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, sealName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return &sealer{f: f, store: store, last: m}, nil
}

// readSeal returns the newest mark in SEAL. ErrCorrupt: SEAL is missing, or has none.
func readSeal(fs vfs.FS, dir string, store [16]byte) (m mark, err error) {
	f, err := fs.Open(fs.PathJoin(dir, sealName))
	if oserror.IsNotExist(err) {
		return m, fmt.Errorf("%w: the file %s is missing", ErrCorrupt, sealName)
	}
	if err != nil {
		return m, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, sealFileSize))
	if err != nil {
		return m, err
	}
	found := false
	for at := 0; at < len(b); at += sealSlot {
		if n, ok := parseSeal(b[at:], store); ok {
			m, found = later(m, n), true
		}
	}
	if !found {
		return m, fmt.Errorf("%w: the file %s has no seal of this store", ErrCorrupt, sealName)
	}
	return m, nil
}

// seal notes that a mark is durable. An older one than the last changes nothing.
func (s *sealer) seal(m mark) error {
	if s == nil { // The database keeps no files.
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.revision <= s.last.revision {
		return nil
	}
	s.buf = appendSeal(s.buf[:0], s.store, m)
	if _, err := s.f.WriteAt(s.buf, s.slot*sealSlot); err != nil {
		return fmt.Errorf("writing %s: %w", sealName, err)
	}
	s.last, s.slot = m, 1-s.slot
	return nil
}

// appendLast appends the last seal, for the WAL.
func (s *sealer) appendLast(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return appendSeal(b, s.store, s.last)
}

func (s *sealer) close() error { return s.f.Close() }

// sealInLogs returns the newest mark in the files of Pebble's WAL, whether Pebble reads
// them or not.
func sealInLogs(fs vfs.FS, dir string, store [16]byte) (m mark, err error) {
	return m, eachWALFile(fs, dir, func(f walFile) error {
		n, err := scanSeals(f, store)
		m = later(m, n)
		return err
	})
}

// scanSeals returns the newest mark in a file.
func scanSeals(r io.Reader, store [16]byte) (m mark, err error) {
	head := appendSeal(nil, store, mark{})[:24]
	b, kept := make([]byte, 1<<20), 0
	for {
		n, err := io.ReadFull(r, b[kept:])
		part := b[:kept+n]
		for at := 0; ; at++ {
			i := bytes.Index(part[at:], head)
			if i < 0 {
				break
			}
			at += i
			if s, ok := parseSeal(part[at:], store); ok {
				m = later(m, s)
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		kept = copy(b, part[len(part)-(sealBytes-1):]) // One may begin there.
	}
}

// sum of an entry, as its value in the log has it.
func sum(logValue []byte) uint64 { return xxhash.Sum64(logValue) }
