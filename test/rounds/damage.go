//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// fillDisk leaves no byte on the victim's disk.
func fillDisk(_ context.Context, r *round) error {
	f, err := os.Create(filepath.Join(r.victim.home, fillerName))
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize); err != nil && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	if _, err := f.Seek(0, 2); err != nil {
		return err
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return nil
}

// files are the victim's, with contents, for which keep reports true.
func (r *round) files(keep func(path string) bool) ([]string, error) {
	var all []string
	err := filepath.WalkDir(r.victim.data(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if i, err := d.Info(); err != nil || i.Size() == 0 || !keep(path) {
			return err
		}
		all = append(all, path)
		return nil
	})
	slices.Sort(all)
	return all, err
}

// pick draws one of n by the plan.
func (r *round) pick(n, salt int) int {
	return int((r.plan.Pick ^ uint64(salt)*0x9e3779b97f4a7c15) % uint64(n))
}

// maxTorn is the most that a log loses at its end.
const maxTorn = 300

// tearLog kills the victim, and cuts its journal or the store's log.
func tearLog(_ context.Context, r *round) error {
	if err := r.victim.kill(); err != nil {
		return err
	}
	var ends []string // the last file of each kind
	for _, kind := range []func(p string) bool{
		func(p string) bool { return filepath.Base(filepath.Dir(p)) == "journal" && filepath.Base(p) != "CLEAN" },
		func(p string) bool { return strings.HasSuffix(p, ".log") },
	} {
		all, err := r.files(kind)
		if err != nil {
			return err
		}
		if len(all) > 0 {
			ends = append(ends, all[len(all)-1])
		}
	}
	if len(ends) == 0 {
		r.note("%s was killed, and has no log to tear", r.victim.Node)
		return nil
	}
	path := ends[r.pick(len(ends), 1)]
	i, err := os.Stat(path)
	if err != nil {
		return err
	}
	lost := min(i.Size(), int64(1+r.pick(maxTorn, 2)))
	r.note("%s lost the last %d of %d bytes of %s", r.victim.Node, lost, i.Size(), r.short(path))
	return os.Truncate(path, i.Size()-lost)
}

func (r *round) short(path string) string { return strings.TrimPrefix(path, r.victim.data()+"/") }

// flipBit kills the victim, and flips a bit of one of its files.
func flipBit(_ context.Context, r *round) error {
	if err := r.victim.kill(); err != nil {
		return err
	}
	all, err := r.files(func(string) bool { return true })
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("rounds: %s has no file to damage", r.victim.data())
	}
	if err != nil {
		return err
	}
	path := all[r.pick(len(all), 1)]
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at, bit := r.pick(len(b), 2), r.pick(8, 3)
	b[at] ^= 1 << bit
	r.note("%s has another bit %d at byte %d of %d of %s", r.victim.Node, bit, at, len(b), r.short(path))
	return os.WriteFile(path, b, 0o600)
}
