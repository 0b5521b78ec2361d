// Command catfish-coordinator runs a coordinator of groups of servers. 'catfish
// coordinator' runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/coordinator"
)

// version is stamped by the build.
var version = ""

// Exit statuses, as those of catfish.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // A second signal kills the process.
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errUsage wraps errors of flags and arguments.
var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := &cobra.Command{Use: "catfish", Version: version, SilenceErrors: true, SilenceUsage: true}
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetArgs(args)
	root.AddCommand(newCoordinator(out))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w: %w", errUsage, err) })
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(errOut, cmd.CommandPath()+":", strings.TrimPrefix(err.Error(), "usage: "))
	if errors.Is(err, errUsage) || errors.Is(err, coordinator.ErrOption) {
		fmt.Fprintf(errOut, "See '%s --help'.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

func newCoordinator(out io.Writer) *cobra.Command {
	var o coordinator.Options
	var r rebalanceFlags
	c := &cobra.Command{
		Use:   "coordinator --data-dir DIR",
		Short: "Run the coordinator of groups of servers",
		Long: `Run a coordinator until Ctrl-C or SIGTERM: an etcd, in which groups of servers
keep their members and their primary. Data of collections never passes
through it. Once it takes part in decisions, it prints one line:

  ready coordinator=HOST:PORT

One coordinator is enough to try groups out. In production run three, on three
machines: each with a --name, and the same --members. Servers name all of them
in --coordinators; they may name an etcd of yours instead.

One of three that has lost its directory is replaced by the same command with an
empty one, and --replace with the addresses of the other two for servers.

With --rebalance it also moves slots between groups that have one store together,
as 'catfish cluster rebalance' does, when a group is too far from its share: give the
flag to all coordinators, one of them does it at a time. 'catfish cluster rebalance
--every' does the same beside an etcd of yours, or with --coordinator-prefix.`,
		Example: `  catfish coordinator --data-dir c1
  catfish coordinator --data-dir c1 --listen 10.0.0.1:7120 --name a --peer-listen 10.0.0.1:7121 \
    --members a=10.0.0.1:7121,b=10.0.0.2:7121,c=10.0.0.3:7121
  catfish coordinator --data-dir c1 --listen 10.0.0.1:7120 --name a --peer-listen 10.0.0.1:7121 \
    --members a=10.0.0.1:7121,b=10.0.0.2:7121,c=10.0.0.3:7121 --replace 10.0.0.2:7120,10.0.0.3:7120
  catfish coordinator --data-dir c1 --rebalance --rebalance-slots 64 --rebalance-every 30m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), out, cmd.ErrOrStderr(), o, &r)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Dir, "data-dir", "", "directory of its state; it is made if it does not exist")
	f.StringVarP(&o.Listen, "listen", "l", "127.0.0.1:7120", "host:port for servers, port 0 for any")
	f.StringVar(&o.Name, "name", "c1", "name of this coordinator in --members")
	f.StringVar(&o.PeerListen, "peer-listen", "", "host:port for the other coordinators; needed with --members")
	f.StringSliceVar(&o.Members, "members", nil, "all coordinators as NAME=HOST:PORT of their --peer-listen; empty: this one alone")
	f.StringSliceVar(&o.Replace, "replace", nil, "host:port, for servers, of the other coordinators: an empty --data-dir takes the place of the one that was lost; with a directory that has state it changes nothing")
	f.StringVar(&o.CertFile, "tls-cert", "", "file with the certificate, for servers and the other coordinators")
	f.StringVar(&o.KeyFile, "tls-key", "", "file with the key of --tls-cert")
	f.StringVar(&o.CAFile, "tls-ca", "", "file with the authority of all certificates: servers and coordinators need one, too")
	r.register(c)
	return c
}

func serve(ctx context.Context, out, errOut io.Writer, o coordinator.Options, r *rebalanceFlags) error {
	automatic, err := r.check()
	if err != nil {
		return err
	}
	c, err := coordinator.Start(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	if automatic != nil {
		stop, err := r.start(ctx, automatic, &o, c.Addr(), errOut)
		if err != nil {
			return err
		}
		defer stop()
	}
	if _, err := fmt.Fprintf(out, "ready coordinator=%s\n", c.Addr()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.Err():
		return err
	}
}
