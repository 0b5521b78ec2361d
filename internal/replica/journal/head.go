package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/catfish-index/catfish/internal/replica"
)

// A file begins with
//
//	0 "CFJL" | 4 length u32 | 8 CRC-32C u32 of what follows | 12 JSON

const headBytes = 4 + 4 + 4

var magic = [4]byte{'C', 'F', 'J', 'L'}

type head struct {
	Version int             `json:"version"`
	First   uint64          `json:"first"`
	History replica.History `json:"history"`
}

const version = 1

func appendHead(b []byte, first uint64, h replica.History) []byte {
	j, _ := json.Marshal(head{version, first, h}) // Numbers cannot fail.
	b = append(b, magic[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(j)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(j, castagnoli))
	return append(b, j...)
}

func parseHead(b []byte) (n int, first uint64, h replica.History, err error) {
	bad := func(what string) (int, uint64, replica.History, error) {
		return 0, 0, nil, fmt.Errorf("%w: its head: %s", ErrCorrupt, what)
	}
	if len(b) < headBytes || [4]byte(b) != magic {
		return bad("no journal")
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	if size > int64(len(b)-headBytes) {
		return bad(fmt.Sprintf("%d bytes, %d are left", size, len(b)-headBytes))
	}
	j := b[headBytes : headBytes+int(size)]
	if binary.LittleEndian.Uint32(b[8:]) != crc32.Checksum(j, castagnoli) {
		return bad("its sum")
	}
	var is head
	if err := json.Unmarshal(j, &is); err != nil {
		return bad(err.Error())
	}
	if is.Version != version || is.First == 0 {
		return bad(fmt.Sprintf("version %d, first revision %d", is.Version, is.First))
	}
	return headBytes + int(size), is.First, is.History, nil
}

const newSuffix = ".new"

// writeDurably makes a file with these bytes, all or nothing.
func writeDurably(path string, b []byte) error {
	f, err := os.OpenFile(path+newSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+newSuffix, path)
	}
	if err != nil {
		_ = os.Remove(path + newSuffix)
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
