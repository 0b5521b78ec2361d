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
	var groups groupsBackup
	var dir, out string
	c := &cobra.Command{
		Use:   "backup NAME | backup --data-dir DIR --out DIR | backup --coordinators ADDRS --out DIR",
		Short: "Copy the features of a server, of a stopped one's data directory, or of all groups",
		Long: `Copy all features as they are at one moment, and check the copy.

With NAME, a running server writes it, while it answers others, into a new
directory of that name in its --backup-dir, on the server's machine. With
--data-dir, this process copies the data directory of a server that is stopped.
On one file system most files are linked, not copied.

With --coordinators, this process copies the stores of all groups that have one
store together, each from its primary, into directories below --out, beside
manifest.json: the map of slots, each group's last revision, and check sums. Each
copy is of one moment of its group; those of two groups differ.

'catfish restore' makes a data directory of a backup.`,
		Example: `  catfish serve --data-dir data --backup-dir backups
  catfish backup monday
  catfish backup --data-dir data --out backups/monday
  catfish backup --coordinators 10.0.0.1:7120 --out backups/monday`,
		Args: Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			all := len(groups.coordinators.addrs) > 0
			if len(names) > 1 || of(len(names) == 1, dir != "", all) != 1 {
				return BadUsage("want NAME, of a running server, --data-dir, of a stopped one, or --coordinators, of all groups")
			}
			if (len(names) == 0) != (out != "") {
				return BadUsage("--data-dir or --coordinators goes with --out, and NAME without")
			}
			notServer := append([]string{"server", "collection", "transport", "policy", "dial-timeout", "key-file"}, FabricFlagNames...)
			switch {
			case dir != "":
				if err := NoUse(cmd.Flags(), "with --data-dir, which this process copies by itself", append(notServer, memberFlagNames...)...); err != nil {
					return err
				}
				return a.backupDir(f.json, dir, out)
			case all:
				if err := NoUse(cmd.Flags(), "with --coordinators, which know the servers", notServer...); err != nil {
					return err
				}
				return a.backupGroups(cmd.Context(), &groups, f.json, out)
			}
			if err := NoUse(cmd.Flags(), "of one server", memberFlagNames...); err != nil {
				return err
			}
			return a.backup(cmd.Context(), &f, names[0])
		},
	}
	f.registerServer(c)
	f.registerJSON(c)
	fs := c.Flags()
	fs.StringVar(&dir, "data-dir", "", "data directory of a stopped server")
	fs.StringVarP(&out, "out", "o", "", "with --data-dir or --coordinators: directory to write, which is not there or empty")
	groups.register(c)
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
	if asJSON {
		return a.json(dirReportOf(dir, r))
	}
	n := store.CountKept(r)
	return a.Printf("%s: %s, %s of %d collections, %s, log from revision %d to %d\n",
		done, dir, keptText(n), len(r.Collections), sizeText(int64(r.Bytes)), r.First, r.Last)
}

// dirReport is what a data directory has, as --json prints it.
type dirReport struct {
	OK          bool            `json:"ok"`
	Dir         string          `json:"dir"`
	Format      uint32          `json:"format"`
	Store       string          `json:"store"`
	Collections []dirCollection `json:"collections"`
	Features    uint64          `json:"features"`
	Boxes       uint64          `json:"boxes,omitempty"` // distinct ones
	Records     uint64          `json:"records,omitempty"`
	Bytes       uint64          `json:"bytes"`
	First       uint64          `json:"first_revision"` // in the log
	Last        uint64          `json:"last_revision"`
}

type dirCollection struct {
	Name    string `json:"name"`
	Created uint64 `json:"created"`
}

func dirReportOf(dir string, r disk.Report) dirReport {
	all := []dirCollection{}
	for _, m := range r.Collections {
		all = append(all, dirCollection{m.Name, m.Created})
	}
	n := store.CountKept(r)
	return dirReport{true, dir, r.Format, fmt.Sprintf("%x", r.Store), all, n.Features, n.Boxes, n.Records, r.Bytes, r.First, r.Last}
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
	var from, to, group string
	var asJSON bool
	c := &cobra.Command{
		Use:   "restore --from DIR --data-dir DIR [--group NAME]",
		Short: "Make a data directory of a backup",
		Long: `Make a data directory of a backup, which is checked before and stays as it is.
The new one counts as another store: watchers and replicas that go on by revision
learn that history has changed. A backup is also a data directory itself, which
'catfish serve --data-dir' serves, and changes.

Of a backup of all groups it makes one of each group, below --data-dir by the
group's name, or with --group of that alone. New coordinators get the map of the
backup by 'catfish cluster init --from', before the groups are started.`,
		Example: `  catfish restore --from backups/monday --data-dir data
  catfish serve --data-dir data
  catfish restore --from backups/all --group g1 --data-dir g1-n1`,
		Args: Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if from == "" || to == "" {
				return BadUsage("--from and --data-dir are needed, both")
			}
			m, err := manifestOf(from)
			if err != nil {
				return err
			}
			if m != nil {
				return a.restoreGroups(m, from, group, to, asJSON)
			}
			if group != "" {
				return BadUsage("--group %s, and %s is not a backup of all groups", group, from)
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
	fs.StringVar(&group, "group", "", "of a backup of all groups: this one alone, into --data-dir itself")
	fs.BoolVar(&asJSON, "json", false, "print one JSON object")
	_ = c.MarkFlagDirname("from") // fails only for an unknown flag
	_ = c.MarkFlagDirname("data-dir")
	return c
}

// checkDir checks a data directory that no server has open, or a backup of all groups.
func (a *App) checkDir(f *clientFlags, dir string) error {
	m, err := manifestOf(dir)
	if err != nil {
		return err
	}
	if m != nil {
		return a.checkGroups(m, dir, f.json)
	}
	r, err := disk.Check(dir)
	if err != nil {
		return err
	}
	return a.tellReport(f.json, "ok", dir, r)
}
