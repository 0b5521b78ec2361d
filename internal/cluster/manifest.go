package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// A backup of all groups is a directory:
//
//	manifest.json   the map, and what each copy is; written last
//	GROUP/          of each group: a data directory, which Restore copies
//
// Each copy is of one moment of its group. Moments of two groups differ, but the map is that of
// all: no slot had another owner from before the first moment to after the last one. So each id
// is in the copy of the group that the map says, once.

const (
	manifestName   = "manifest.json"
	manifestFormat = 1
	// maxManifest bounds what is read of one: the map, and 64 groups.
	maxManifest = 4 * placement.MaxBytes
)

// ErrBackup: a backup of several groups is damaged, or is none; the text says which.
var ErrBackup = errors.New("cluster: bad backup of several groups")

// Manifest says what a backup of several groups has.
type Manifest struct {
	Format int             `json:"format"`
	Taken  time.Time       `json:"taken"` // when the last copy had come
	Map    json.RawMessage `json:"map"`   // as placement encodes it
	Groups []GroupCopy     `json:"groups"`

	is *placement.Map
}

// GroupCopy is the copy of a group.
type GroupCopy struct {
	Name        string `json:"name"` // also of the directory
	Store       string `json:"store"`
	Revision    uint64 `json:"revision"` // of the last write in it
	Collections int    `json:"collections"`
	Features    uint64 `json:"features"`
	Boxes       uint64 `json:"boxes"` // different ones
	Records     uint64 `json:"records"`
	Bytes       int64  `json:"bytes"`  // of all files
	Sum         string `json:"sha256"` // of all files, with their names
}

// Names are those of the groups.
func (m *Manifest) Names() (l []string) {
	for _, g := range m.Groups {
		l = append(l, g.Name)
	}
	return l
}

// Restored is the map for new coordinators: the groups and their parts, without moves, except for those of ranges
// that are decided: their boxes are dropped by the move alone. It is later than that of before, for clients that
// have known that.
func (m *Manifest) Restored() *placement.Map {
	n := *m.is
	n.Moves = slices.DeleteFunc(slices.Clone(n.Moves), func(v placement.Move) bool { return v.Collection == "" || v.Step.Undoable() })
	n.Version++
	n.Epoch = n.Version
	return &n
}

// ReadManifest reads that of a backup. fs.ErrNotExist: the directory has none. ErrBackup: it is damaged.
func ReadManifest(dir string) (*Manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	wrong := func(err error) error { return fmt.Errorf("%w: %s in %s: %w", ErrBackup, manifestName, dir, err) }
	if len(b) > maxManifest {
		return nil, wrong(fmt.Errorf("more than %d bytes", maxManifest))
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, wrong(err)
	}
	if m.Format != manifestFormat {
		return nil, wrong(fmt.Errorf("format %d, want %d", m.Format, manifestFormat))
	}
	if m.is, err = placement.Decode(m.Map); err != nil {
		return nil, wrong(err)
	}
	if len(m.Groups) != len(m.is.Groups) {
		return nil, wrong(fmt.Errorf("%d copies of %d groups", len(m.Groups), len(m.is.Groups)))
	}
	for i, g := range m.is.Groups {
		if m.Groups[i].Name != g.Name {
			return nil, wrong(fmt.Errorf("copy %d is of group %q, want %q", i, m.Groups[i].Name, g.Name))
		}
	}
	return m, nil
}

// write makes the manifest of a directory, durably.
func (m *Manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, manifestName)
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Check checks the copies of all groups, and calls each with the report about one.
func (m *Manifest) Check(dir string, each func(g *GroupCopy, dir string, r disk.Report) error) error {
	for i := range m.Groups {
		g, of := &m.Groups[i], filepath.Join(dir, m.Groups[i].Name)
		err := g.verify(of)
		var r disk.Report
		if err == nil {
			r, err = disk.Check(of)
		}
		if err != nil {
			return fmt.Errorf("group %q: %w", g.Name, err)
		}
		if err := each(g, of, r); err != nil {
			return err
		}
	}
	return nil
}

// Restore makes a data directory of the copy of a group, as disk.Restore does.
func (m *Manifest) Restore(dir, group, to string) (disk.Report, error) {
	at, err := m.is.Find(group)
	if err != nil {
		return disk.Report{}, fmt.Errorf("the backup in %s: %w", dir, err)
	}
	from := filepath.Join(dir, group)
	err = m.Groups[at].verify(from)
	var r disk.Report
	if err == nil {
		r, err = disk.Restore(from, to)
	}
	if err != nil {
		return r, fmt.Errorf("group %q: %w", group, err)
	}
	return r, nil
}

// verify compares a directory with its check sum.
func (g *GroupCopy) verify(dir string) error {
	n, sum, err := sumOf(dir)
	if err == nil && (n != g.Bytes || sum != g.Sum) {
		err = fmt.Errorf("%w: %s has %d bytes of check sum %s, want %d of %s", ErrBackup, dir, n, sum, g.Bytes, g.Sum)
	}
	return err
}

// measure notes what a copy that was checked has.
func (g *GroupCopy) measure(dir string, r disk.Report) (err error) {
	n := store.CountKept(r)
	g.Store, g.Revision, g.Collections = hex.EncodeToString(r.Store[:]), r.Last, len(r.Collections)
	g.Features, g.Boxes, g.Records = n.Features, n.Boxes, n.Records
	g.Bytes, g.Sum, err = sumOf(dir)
	return err
}

// lockFile is made by each process that opens a data directory, and has no content.
const lockFile = "LOCK"

// sumOf is the number of bytes of all files below a directory, and their check sum: of the name, the
// length and the content of each, by name.
func sumOf(dir string) (size int64, sum string, err error) {
	all := sha256.New()
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error { // by name
		if err != nil || e.IsDir() || e.Name() == lockFile {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		one := sha256.New()
		n, err := io.Copy(one, f)
		size += n
		_, _ = fmt.Fprintf(all, "%q %d %x\n", filepath.ToSlash(name), n, one.Sum(nil)) // A hash does not fail.
		return err
	})
	return size, hex.EncodeToString(all.Sum(nil)), err
}
