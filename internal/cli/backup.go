package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

func newBackup(a *App) *cobra.Command {
	var f clientFlags
	var dir, out string
	c := &cobra.Command{
		Use:   "backup NAME | backup --data-dir DIR --out DIR",
		Short: "Copy the features of a server, or of a stopped one's data directory",
		Long: `Copy all features as they are at one moment, and check the copy.

With NAME, a running server writes it, while it answers others, into a new
directory of that name in its --backup-dir, on the server's machine. With
--data-dir, this process copies the data directory of a server that is stopped.
On one file system most files are linked, not copied.

'catfish restore' makes a data directory of a backup.`,
		Example: `  catfish serve --data-dir data --backup-dir backups
  catfish backup monday
  catfish backup --data-dir data --out backups/monday`,
		Args: Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			if (len(names) == 1) == (dir != "") {
				return BadUsage("want NAME, of a running server, or --data-dir, of a stopped one")
			}
			if (dir == "") != (out == "") {
				return BadUsage("--data-dir goes with --out")
			}
			if dir != "" {
				if err := NoUse(cmd.Flags(), "with --data-dir, which this process copies by itself", append([]string{
					"server", "collection", "transport", "policy", "dial-timeout"}, FabricFlagNames...)...); err != nil {
					return err
				}
				return a.backupDir(f.json, dir, out)
			}
			return a.backup(cmd.Context(), &f, names[0])
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	fs := c.Flags()
	fs.StringVar(&dir, "data-dir", "", "data directory of a stopped server")
	fs.StringVarP(&out, "out", "o", "", "with --data-dir: directory to write, which is not there or empty")
	_ = c.MarkFlagDirname("data-dir") // fails only for an unknown flag
	_ = c.MarkFlagDirname("out")
	return c
}

func (a *App) backup(ctx context.Context, f *clientFlags, name string) error {
	cl, err := f.dialServer(ctx, a)
	if err != nil {
		return err
	}
	defer cl.Close()
	b, err := cl.Backup(ctx, name)
	if err != nil {
		return err
	}
	if f.json {
		return a.json(b)
	}
	return a.Printf("backed up %s of %d collections, up to revision %d, in %s\n",
		keptText(store.Counts{Features: b.Features, Boxes: b.Boxes, Records: b.Records}), b.Collections, b.Revision, b.Dir)
}

// backupDir copies the data directory of a stopped server.
func (a *App) backupDir(asJSON bool, from, to string) (err error) {
	// Opening would create a missing directory.
	if names, err := os.ReadDir(from); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	} else if len(names) == 0 {
		return fmt.Errorf("--data-dir %s: %w: it is empty", from, disk.ErrForeign)
	}
	db, err := disk.Open(from, disk.Options{Logger: a.logger()})
	if err != nil {
		return err
	}
	r, err := db.Checkpoint(to)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return a.tellReport(asJSON, "backed up", to, r)
}

// tellReport prints the contents of a data directory.
func (a *App) tellReport(asJSON bool, done, dir string, r disk.Report) error {
	n := store.CountKept(r)
	if asJSON {
		type collection struct {
			Name    string `json:"name"`
			Created uint64 `json:"created"`
		}
		all := []collection{}
		for _, m := range r.Collections {
			all = append(all, collection{m.Name, m.Created})
		}
		return a.json(struct {
			OK          bool         `json:"ok"`
			Dir         string       `json:"dir"`
			Format      uint32       `json:"format"`
			Store       string       `json:"store"`
			Collections []collection `json:"collections"`
			Features    uint64       `json:"features"`
			Boxes       uint64       `json:"boxes,omitempty"` // distinct ones
			Records     uint64       `json:"records,omitempty"`
			Bytes       uint64       `json:"bytes"`
			First       uint64       `json:"first_revision"` // in the log
			Last        uint64       `json:"last_revision"`
		}{true, dir, r.Format, fmt.Sprintf("%x", r.Store), all, n.Features, n.Boxes, n.Records, r.Bytes, r.First, r.Last})
	}
	return a.Printf("%s: %s, %s of %d collections, %s, log from revision %d to %d\n",
		done, dir, keptText(n), len(r.Collections), sizeText(int64(r.Bytes)), r.First, r.Last)
}

// keptText prints how many features, boxes and records are stored.
func keptText(n store.Counts) string {
	text := fmt.Sprintf("%d features", n.Features)
	switch {
	case n.Boxes > 0 && n.Records > 0:
		return fmt.Sprintf("%s, %d different boxes and %d records", text, n.Boxes, n.Records)
	case n.Boxes > 0:
		return fmt.Sprintf("%s and %d different boxes", text, n.Boxes)
	case n.Records > 0:
		return fmt.Sprintf("%s and %d records", text, n.Records)
	}
	return text
}

func newRestore(a *App) *cobra.Command {
	var from, to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "restore --from DIR --data-dir DIR",
		Short: "Make a data directory of a backup",
		Long: `Make a data directory of a backup, which is checked before and stays as it is.
The new one counts as another store: watchers and replicas that go on by revision
learn that history has changed. A backup is also a data directory itself, which
'catfish serve --data-dir' serves, and changes.`,
		Example: `  catfish restore --from backups/monday --data-dir data
  catfish serve --data-dir data`,
		Args: Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if from == "" || to == "" {
				return BadUsage("--from and --data-dir are needed, both")
			}
			r, err := disk.Restore(from, to)
			if err != nil {
				return err
			}
			return a.tellReport(asJSON, "restored", to, r)
		},
	}
	fs := c.Flags()
	fs.StringVar(&from, "from", "", "the backup")
	fs.StringVar(&to, "data-dir", "", "directory to make, which is not there or empty")
	fs.BoolVar(&asJSON, "json", false, "print one JSON object")
	_ = c.MarkFlagDirname("from") // fails only for an unknown flag
	_ = c.MarkFlagDirname("data-dir")
	return c
}

// checkDir checks a data directory that no server has open.
func (a *App) checkDir(f *clientFlags, dir string) error {
	r, err := disk.Check(dir)
	if err != nil {
		return err
	}
	return a.tellReport(f.json, "ok", dir, r)
}
