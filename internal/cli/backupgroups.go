package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/certs"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// groupsBackup are the flags of a backup of all groups.
type groupsBackup struct {
	coordinators  coordinatorFlags
	keyFile, ca   string
	tlsCert, tlsK string
}

// memberFlagNames are of use with --coordinators alone.
var memberFlagNames = []string{"coordinator-ca", "coordinator-cert", "coordinator-key", "coordinator-user", "coordinator-password-file",
	"coordinator-prefix", "member-key-file", "member-ca", "tls-cert", "tls-key"}

func (f *groupsBackup) register(c *cobra.Command) {
	f.coordinators.register(c)
	fs := c.Flags()
	fs.StringVar(&f.keyFile, "member-key-file", "", "with --coordinators: file with a key of role GROUP:replica for each group, if members want keys")
	fs.StringVar(&f.ca, "member-ca", "", "with --coordinators: authority of the members' certificates, if they have TLS between them; needs --tls-cert and --tls-key")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "file with the certificate that is shown to members")
	fs.StringVar(&f.tlsK, "tls-key", "", "file with the key of --tls-cert")
}

// access is what members are shown.
func (f *groupsBackup) access(a *App) (of cluster.Access, err error) {
	of.Logger = a.logger()
	if (f.ca == "") != (f.tlsCert == "") || (f.ca == "") != (f.tlsK == "") {
		return of, BadUsage("--member-ca, --tls-cert and --tls-key, want all or none")
	}
	if f.keyFile != "" {
		key, err := secretLine("--member-key-file", f.keyFile)
		if err != nil {
			return of, err
		}
		of.Key = func() (string, error) { return key, nil }
	}
	if f.ca != "" {
		of.Certs, err = certs.NewServer(certs.Files{Cert: f.tlsCert, Key: f.tlsK, ClientCA: f.ca}, of.Logger)
	}
	return of, err
}

// of counts what is so.
func of(is ...bool) (n int) {
	for _, b := range is {
		if b {
			n++
		}
	}
	return n
}

func (a *App) backupGroups(ctx context.Context, f *groupsBackup, asJSON bool, out string) error {
	access, err := f.access(a)
	if err != nil {
		return err
	}
	cl, err := f.coordinators.dial()
	if err != nil {
		return err
	}
	defer cl.Close()
	m, err := cluster.Backup(ctx, cl, out, access)
	if err != nil {
		return err
	}
	if asJSON {
		return a.json(struct {
			Dir string `json:"dir"`
			*cluster.Manifest
		}{out, m})
	}
	for _, g := range m.Groups {
		n := store.Counts{Features: g.Features, Boxes: g.Boxes, Records: g.Records}
		if err := a.Printf("group %s: %s of %d collections, up to revision %d, %s\n", g.Name, keptText(n), g.Collections, g.Revision, sizeText(g.Bytes)); err != nil {
			return err
		}
	}
	return a.Printf("backed up %d groups in %s: each as it was at one moment, which is another one for each group\n", len(m.Groups), out)
}

// manifestOf is nil if a directory is no backup of all groups.
func manifestOf(dir string) (*cluster.Manifest, error) {
	m, err := cluster.ReadManifest(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

// groupReport is a directory of a group, as --json prints it.
type groupReport struct {
	Group string `json:"group"`
	dirReport
}

// groupReports prints directories of groups: each at once, or all as one JSON object.
type groupReports struct {
	a      *App
	asJSON bool
	done   string
	all    []groupReport
}

func (p *groupReports) add(group, dir string, r disk.Report) error {
	if p.asJSON {
		p.all = append(p.all, groupReport{group, dirReportOf(dir, r)})
		return nil
	}
	return p.a.tellReport(false, fmt.Sprintf("%s: group %s", p.done, group), dir, r)
}

func (p *groupReports) end() error {
	if !p.asJSON {
		return nil
	}
	return p.a.json(struct {
		OK     bool          `json:"ok"`
		Groups []groupReport `json:"groups"`
	}{true, p.all})
}

func (a *App) restoreGroups(m *cluster.Manifest, from, group, to string, asJSON bool) error {
	p := groupReports{a: a, asJSON: asJSON, done: "restored"}
	names, dir := []string{group}, func(string) string { return to }
	if group == "" {
		names, dir = m.Names(), func(name string) string { return filepath.Join(to, name) }
	}
	for _, name := range names {
		r, err := m.Restore(from, name, dir(name))
		if err == nil {
			err = p.add(name, dir(name), r)
		}
		if err != nil {
			return err
		}
	}
	return p.end()
}

func (a *App) checkGroups(m *cluster.Manifest, dir string, asJSON bool) error {
	p := groupReports{a: a, asJSON: asJSON, done: "ok"}
	err := m.Check(dir, func(g *cluster.GroupCopy, of string, r disk.Report) error { return p.add(g.Name, of, r) })
	if err != nil {
		return err
	}
	return p.end()
}
