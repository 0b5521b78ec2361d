package server

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
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
	st, err := s.features.ready()
	if err != nil {
		return model.BackupInfo{}, err
	}
	dir := filepath.Join(s.opts.BackupDir, name)
	r, err := st.Checkpoint(dir)
	if err != nil {
		return model.BackupInfo{}, err
	}
	features, boxes := store.CountKept(r)
	s.log.Info("backed up", "dir", dir, "features", features, "boxes", boxes, "revision", r.Last)
	return model.BackupInfo{Dir: dir, Collections: len(r.Collections), Features: features, Boxes: boxes, Revision: r.Last}, nil
}

// backupWork is a backup that a client requested. It reads all data, so it takes no
// scheduling slot among searches, which would wait for it.
type backupWork struct {
	s    *Server
	name string
}

func (w *backupWork) keeps() int { return 0 }

func (w *backupWork) refused() {}

func (w *backupWork) begin(a lateAnswer) {
	w.s.serving.Go(func() {
		b, err := w.s.Backup(w.name)
		var out []byte
		if err == nil {
			out, err = json.Marshal(b)
		}
		if err != nil {
			a.fail(err, 0)
			return
		}
		a.reply(out)
	})
}
