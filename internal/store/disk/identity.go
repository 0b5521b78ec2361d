package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The file CATFISH makes a directory a data directory. It is looked at before any
// file of Pebble is touched, and says
//
//	catfish data directory
//	format 1
//	store 0123456789abcdef0123456789abcdef
//	state creating
//	seal none
//	sum 01234567
//
// State creating becomes ready when Pebble's files exist. Without that, a
// data directory that has lost them would be taken for one that was never
// finished, and begin empty. Seal none becomes kept when there is a file SEAL
// (seal.go), which must never be missing then. The sum is CRC-32C of the lines before
// it. The last two lines are not in directories of versions before 0.2.

const (
	identityName = "CATFISH"
	identityHead = "catfish data directory"
	pebbleName   = "pebble"
)

type identity struct {
	format uint32
	store  [16]byte
	ready  bool
	sealed bool
}

func newIdentity() identity {
	id := identity{format: 1}
	_, _ = rand.Read(id.store[:]) // It does not fail (crypto/rand).
	return id
}

func (id identity) String() string {
	seal := "none"
	if id.sealed {
		seal = "kept"
	}
	text := fmt.Sprintf("%sseal %s\n", id.head(), seal)
	return text + fmt.Sprintf("sum %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

// head is the whole file of versions before 0.2.
func (id identity) head() string {
	state := "creating"
	if id.ready {
		state = "ready"
	}
	return fmt.Sprintf("%s\nformat %d\nstore %x\nstate %s\n", identityHead, id.format, id.store, state)
}

func parseIdentity(text string) (id identity, err error) {
	lines := strings.Split(text, "\n")
	if lines[0] != identityHead {
		return id, fmt.Errorf("%w: the first line of %s is not %q", ErrForeign, identityName, identityHead)
	}
	field := func(i int, name string) string {
		if i >= len(lines) {
			return ""
		}
		value, _ := strings.CutPrefix(lines[i], name+" ")
		return value
	}
	// The format comes first: of another version nothing else is known.
	format, err := strconv.ParseUint(field(1, "format"), 10, 32)
	if err != nil {
		return id, fmt.Errorf("%w: %s names no format", ErrCorrupt, identityName)
	}
	if format < 1 || format > Format {
		return id, fmt.Errorf("%w: it is format %d, this version reads formats 1 to %d", ErrFormat, format, Format)
	}
	id.format = uint32(format)
	store, err := hex.DecodeString(field(2, "store"))
	state := field(3, "state")
	if err != nil || len(store) != len(id.store) || (state != "ready" && state != "creating") {
		return id, fmt.Errorf("%w: %s: store %q, state %q", ErrCorrupt, identityName, field(2, "store"), state)
	}
	copy(id.store[:], store)
	id.ready, id.sealed = state == "ready", field(4, "seal") == "kept"
	if written := id.String(); text != written && text != id.head() {
		return id, fmt.Errorf("%w: %s is not what was written: %q, not %q", ErrCorrupt, identityName, text, written)
	}
	return id, nil
}

// readIdentity of a directory. Without one, found is false if the directory is
// empty or missing, and the error ErrForeign if it is not empty.
func readIdentity(fs vfs.FS, dir string) (id identity, found bool, err error) {
	names, err := fs.List(dir)
	if oserror.IsNotExist(err) {
		return id, false, nil
	}
	if err != nil {
		return id, false, err
	}
	empty := true
	for _, name := range names {
		if name == identityName {
			id, err = loadIdentity(fs, dir)
			return id, err == nil, err
		}
		// Left by a creation that stopped before CATFISH.
		if name != lockName && name != identityName+".tmp" && name != sealName+".tmp" {
			empty = false
		}
	}
	if !empty {
		return id, false, fmt.Errorf("%w: %s is not empty and has no file %s", ErrForeign, dir, identityName)
	}
	return id, false, nil
}

func loadIdentity(fs vfs.FS, dir string) (id identity, err error) {
	f, err := fs.Open(fs.PathJoin(dir, identityName))
	if err != nil {
		return id, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return id, err
	}
	id, err = parseIdentity(string(text))
	if err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	return id, err
}

// save replaces the file, durably.
func (id identity) save(fs vfs.FS, dir string) error {
	return writeDurably(fs, dir, identityName, []byte(id.String()))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Require raises the format of the data directory to at least this one, durably:
// before a write that older programs would misread. Only the
// goroutine that commits calls it. ErrReadOnly: the disk does not take it.
func (db *DB) Require(format uint32) error {
	db.mu.Lock()
	id, err := db.id, db.healthy()
	db.mu.Unlock()
	if err != nil || db.o.IDsOnly || id.format >= format {
		return err
	}
	id.format = format
	if err := id.save(db.o.FS, db.dir); err != nil {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	db.mu.Lock()
	db.id.format = format
	db.mu.Unlock()
	return nil
}

// StoreOf returns the identity of a data directory, false if there is none.
func StoreOf(dir string) (id [16]byte, found bool, err error) {
	is, found, err := readIdentity(vfs.Default, dir)
	return is.store, found, err
}
