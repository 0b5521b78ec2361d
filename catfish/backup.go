package catfish

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/catfish-index/catfish/store"
)

// BackupInfo describes the content of a backup.
type BackupInfo struct {
	Dir         string `json:"dir"` // on the server's machine
	Collections int    `json:"collections"`
	Features    uint64 `json:"features"`
	Boxes       uint64 `json:"boxes,omitempty"` // different ones
	Revision    uint64 `json:"revision"`        // of the last write in the backup
}

// Backup copies all kept collections, as they are at one moment, to a new directory of
// that name in ServerOptions.BackupDir, while clients read and write, and checks the
// copy. ErrNotPermitted: the server keeps nothing, or has no BackupDir. ErrBusy: another
// backup is being made. disk.ErrExists: a backup of this name exists. disk.Restore makes
// a data directory of a backup.
func (s *Server) Backup(name string) (BackupInfo, error) {
	if s.opts.DataDir == "" || s.opts.BackupDir == "" {
		return BackupInfo{}, fmt.Errorf("%w: backups: the server has no data directory, or no directory for backups", ErrNotPermitted)
	}
	if err := checkBackupName(name); err != nil {
		return BackupInfo{}, err
	}
	if !s.backingUp.TryLock() {
		return BackupInfo{}, fmt.Errorf("%w: another backup is being made", ErrBusy)
	}
	defer s.backingUp.Unlock()
	st, err := s.features.ready()
	if err != nil {
		return BackupInfo{}, err
	}
	dir := filepath.Join(s.opts.BackupDir, name)
	r, err := st.Checkpoint(dir)
	if err != nil {
		return BackupInfo{}, err
	}
	features, boxes := store.CountKept(r)
	s.log.Info("backed up", "dir", dir, "features", features, "boxes", boxes, "revision", r.Last)
	return BackupInfo{Dir: dir, Collections: len(r.Collections), Features: features, Boxes: boxes, Revision: r.Last}, nil
}

// checkBackupName accepts one directory, not a path that leads elsewhere.
func checkBackupName(name string) error {
	if err := checkName(name); err != nil || name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("%w: backup %q, want the name of a directory, without a path", ErrOption, name)
	}
	return nil
}

// Backup makes the server do Server.Backup.
func (c *Client) Backup(ctx context.Context, name string) (b BackupInfo, err error) {
	if err := checkBackupName(name); err != nil {
		return b, err
	}
	ans, err := c.manage(ctx, kindBackup, "make backups", name)
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(ans, &b); err != nil {
		return b, fmt.Errorf("%w: backup: %w", ErrProtocol, err)
	}
	return b, nil
}

// backupWork is a backup that a client requested. It reads all data, so it takes no
// scheduling slot among searches, which would wait for it.
type backupWork struct {
	s    *Server
	name string
}

func (w *backupWork) keeps() int { return 0 }
func (w *backupWork) refused()   {}

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
