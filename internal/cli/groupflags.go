package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/coord"
)

// coordinatorPassword is the variable with the password of --coordinator-user.
const coordinatorPassword = "CATFISH_COORDINATOR_PASSWORD"

// registerGroup adds the flags of a member of a group.
func (f *serveFlags) registerGroup(c *cobra.Command) {
	g, fs := &f.opts.Group, c.Flags()
	fs.StringSliceVar(&g.Coordinators, "coordinators", nil,
		"host:port of coordinators (catfish coordinator, or an etcd): this server is a member of a group,\n"+
			"which has --data-dir replicated; needs --group and --node")
	f.coordinator.register(fs)
	fs.StringVar(&g.Name, "group", "", "name of the group; the first member makes it")
	fs.StringVar(&g.Node, "node", "", "name of this server in the group; it stays with the data directory")
	fs.StringVar(&g.Addr, "advertise", "", "host:port by which clients and members reach this server, empty: that of --listen")
	fs.IntVar(&g.MinInSync, "min-in-sync", 0, "for a new group: the least number of members that must have a write, this one included; below it\nwrites are refused; 0: 1")
	fs.BoolVar(&g.Durable, "durable", false, "for a new group: members must have a write on disk before it is acknowledged, and not only in memory")
	fs.StringVar(&g.KeyFile, "member-key-file", "", "file with this member's key, of role GROUP:replica in --keys of the other members; needed with --keys")
	fs.StringVar(&g.MemberCA, "member-ca", "", "file with the authority of the members' certificates: streams between members have TLS, at both\nends with --tls-cert, which must be for servers and clients")
	fs.StringVar(&g.LaneTransport, "lane-transport", "auto",
		"how the log, and a first copy of the store, come from the primary: by the best of shm, ofi and soft that both have, else over TCP;\n"+
			"tcp: over TCP; another one: by it alone")
	fs.Var(ringSize{byteSize{&g.LaneRing}}, "lane-ring",
		"memory into which the primary writes the log, such as 16MiB, a multiple of 4KiB; auto: by the load of\nthis machine, from 256KiB to 64MiB")
	CompleteList(c, "lane-transport", "auto", "shm", "soft", "ofi", "tcp")
}

// coordinatorAccess is how coordinators know their client, and it knows them.
type coordinatorAccess struct {
	tls                        daemon.CoordinatorTLS
	user, passwordFile, prefix string
}

func (f *coordinatorAccess) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.tls.CA, "coordinator-ca", "", "file with the authority of the coordinators' certificates; empty: without TLS")
	fs.StringVar(&f.tls.Cert, "coordinator-cert", "", "file with the certificate that coordinators want of their clients")
	fs.StringVar(&f.tls.Key, "coordinator-key", "", "file with the key of --coordinator-cert")
	fs.StringVar(&f.user, "coordinator-user", "", "user of an etcd with users")
	fs.StringVar(&f.passwordFile, "coordinator-password-file", "", "file with the password of --coordinator-user; empty: it is in $"+coordinatorPassword)
	fs.StringVar(&f.prefix, "coordinator-prefix", coord.DefaultPrefix, "where the keys begin in an etcd that others use, too")
}

// password reads it.
func (f *coordinatorAccess) password() (string, error) {
	if f.passwordFile == "" {
		return os.Getenv(coordinatorPassword), nil
	}
	if f.user == "" {
		return "", BadUsage("--coordinator-password-file without --coordinator-user")
	}
	return secretLine("--coordinator-password-file", f.passwordFile)
}

// set makes them options of a member.
func (f *coordinatorAccess) set(g *daemon.Group) (err error) {
	g.User, g.Prefix, g.TLS = f.user, f.prefix, f.tls
	g.Password, err = f.password()
	return err
}

// ringSize is a number of bytes, or auto.
type ringSize struct{ byteSize }

func (r ringSize) String() string {
	if r.n == nil || *r.n == 0 {
		return "auto"
	}
	return r.byteSize.String()
}

func (r ringSize) Set(s string) error {
	if s == "auto" {
		*r.n = 0
		return nil
	}
	return r.byteSize.Set(s)
}

// again replaces this process by a new one, if the server's store has to be copied first.
func (a *App) again(ctx context.Context, err error) error {
	if !errors.Is(err, daemon.ErrCopyNeeded) || ctx.Err() != nil {
		return err
	}
	self, look := os.Executable()
	if look != nil {
		return errors.Join(err, look)
	}
	fmt.Fprintln(a.Err, "catfish serve: beginning again, to copy the store of the primary")
	return errors.Join(err, syscall.Exec(self, os.Args, os.Environ()))
}
