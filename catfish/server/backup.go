package server

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// Backup copies all kept collections, as they are at one moment, to a new directory of
// that name in Options.BackupDir, while clients read and write, and checks the
// copy. ErrNotPermitted: the server keeps nothing, or has no BackupDir. ErrBusy: another
// backup is being made. disk.ErrExists: a backup of this name exists. disk.Restore makes
// a data directory of a backup.
func (s *Server) Backup(name string) (model.BackupInfo, error) {
	if s.opts.DataDir == "" || s.opts.BackupDir == "" {
		return model.BackupInfo{}, fmt.Errorf("%w: backups: the server has no data directory, or no directory for backups", model.ErrNotPermitted)
	}
	if err := wire.CheckBackupName(name); err != nil {
		return model.BackupInfo{}, err
	}
	if !s.backingUp.TryLock() {
		return model.BackupInfo{}, fmt.Errorf("%w: another backup is being made", model.ErrBusy)
	}
	defer s.backingUp.Unlock()
	st, err := s.Store()
	if err != nil {
		return model.BackupInfo{}, err
	}
	dir := filepath.Join(s.opts.BackupDir, name)
	r, err := st.Checkpoint(dir)
	if err != nil {
		return model.BackupInfo{}, err
	}
	n := store.CountKept(r)
	s.log.Info("backed up", "dir", dir, "features", n.Features, "boxes", n.Boxes, "records", n.Records, "revision", r.Last)
	return model.BackupInfo{
		Dir: dir, Collections: len(r.Collections), Features: n.Features, Boxes: n.Boxes, Records: n.Records, Revision: r.Last,
	}, nil
}

// backup is the task of a client's backup. It reads all data, so it takes no scheduling
// slot among searches, which would wait for it.
func (v *service) backup(from *peer, name string) *task {
	return v.newWork(from, func(t *task) ([]byte, error) {
		b, err := t.s.Backup(name)
		if err != nil {
			return nil, err
		}
		return json.Marshal(b)
	})
}
