package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// The exit statuses that scripts rely on.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// usageError is about a typed flag or argument. Nothing was changed.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// partialError is about a partly done write, and says how much was done.
type partialError struct{ err error }

func (e partialError) Error() string { return e.err.Error() }
func (e partialError) Unwrap() error { return e.err }

// BadUsage is an error about a flag or an argument.
func BadUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// isUsage reports whether an error is about flags and arguments, wherever it
// was found, and not a failure.
func (p Program) isUsage(err error) bool {
	var u usageError
	if errors.As(err, &u) {
		return true
	}
	for _, sentinel := range append([]error{
		catfish.ErrOption, policy.ErrScheme, datasets.ErrOption,
		affinity.ErrBadList, affinity.ErrUnavailable, store.ErrQuery, filter.ErrFilter,
	}, p.BadUsage...) {
		if errors.Is(err, sentinel) {
			return true
		}
	}
	return false
}

// packageNames match the names with which errors of Go packages begin, alone or
// within others. They help programmers only.
var packageNames = regexp.MustCompile(
	`(^|[ (\n])(?:(?:catfish|rstar|rdma|offload|remote|datasets|ycsb|bench|replay|sim|kv|kv/remote|record|cuckoo|store|disk|filter|places|cluster|placement): )+`)

// exitCode prints the reason and chooses the status.
func (p Program) exitCode(ctx context.Context, cmd *cobra.Command, err error, w io.Writer) int {
	if err == nil {
		return ExitOK
	}
	reason := packageNames.ReplaceAllString(err.Error(), "$1")
	switch {
	case p.isUsage(err):
		fmt.Fprintf(w, "catfish: %s\nRun '%s --help' for usage.\n",
			reason, cmd.CommandPath())
		return ExitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintf(w, "catfish: interrupted (%s)\n", reason)
		return ExitFailure
	}
	advice := hint(err)
	if advice == "" && p.Hint != nil {
		advice = p.Hint(err)
	}
	fmt.Fprintf(w, "catfish: %s%s\n", reason, advice)
	return ExitFailure
}

// hint says what the user can do about an error, where its text does not.
func hint(err error) string {
	var addr *daemon.AddrError
	switch {
	case errors.Is(err, cluster.ErrLoad):
		return "\n--by count weighs all slots alike, and asks no group."
	case errors.Is(err, syscall.EADDRINUSE) && errors.As(err, &addr):
		return "\nChoose another address with --" + strings.ToLower(addr.Service) + "; port 0 takes any free one."
	case errors.Is(err, fs.ErrPermission) && errors.Is(err, catfish.ErrNoServer):
		return "\nThe server is there, but its unix socket is not open to you: --socket-mode" +
			" of 'catfish serve' decides who may use shm. --transport soft needs no socket."
	case errors.Is(err, catfish.ErrNoServer):
		return "\nIs a server running there? Start one with 'catfish serve --listen ADDR'," +
			" or name another with --server."
	case errors.Is(err, catfish.ErrUnknownCollection):
		return "\nSee 'catfish collections list'; 'catfish collections create NAME' adds one" +
			" (--records: of records, --features: of features), and 'catfish serve --collection NAME' (--records NAME)" +
			" one that is there from the start."
	case errors.Is(err, disk.ErrLocked):
		return "\nA server has it open, or another process: stop that first. 'catfish backup NAME' copies a running server."
	case errors.Is(err, disk.ErrCorrupt):
		return "\nThe data directory is damaged, and was not changed: 'catfish restore' makes another one of a backup,\nand 'catfish serve --accept-loss' serves what is left, if it can be read."
	case errors.Is(err, disk.ErrReadOnly):
		return "\nReads go on, and writes will again by themselves: make room on the server's disk, or see its log."
	case errors.Is(err, store.ErrLagged):
		return "\nSearch again for what is there, and watch from then on, without --from."
	case errors.Is(err, catfish.ErrKind):
		return "\nName another one with -c NAME: 'catfish collections list' has the kinds."
	case errors.Is(err, catfish.ErrNotReady):
		return "\nIt will be when the server has loaded it: try again then."
	case errors.Is(err, catfish.ErrNotPermitted):
		return notPermitted(err)
	case errors.Is(err, errPprof):
		return "\nChoose another address with --pprof; port 0 takes any free one."
	case errors.Is(err, catfish.ErrUnauthenticated):
		return "\nThe server has --keys: put one into a file for --key-file, or into $" + keyVariable +
			"; 'catfish keys add' makes one."
	case errors.Is(err, catfish.ErrRecord) && errors.Is(err, fs.ErrExist):
		return "\nName another file with --record, or let it be overwritten with --record-force."
	case errors.Is(err, catfish.ErrTransport):
		return "\n--transport auto takes the best that client and server have; 'catfish fabric' shows RDMA devices."
	case errors.Is(err, fastmsg.ErrTooLarge), errors.Is(err, catfish.ErrTooLarge):
		return "\nAsk for less: a smaller rectangle, --limit or -k."
	case errors.Is(err, catfish.ErrInUse):
		return "\nChoose another address with --listen; port 0 takes any free one."
	case errors.As(err, new(partialError)):
		return "" // Part of the work was done.
	case errors.Is(err, catfish.ErrUnknownOutcome):
		return "\nThe write may or may not have happened: look before repeating it."
	case catfish.RetrySafe(err) && status.RetryOf(err) == status.Safe:
		return "\nNothing was changed: it is safe to try again."
	case catfish.RetrySafe(err):
		return "\nNothing was changed."
	}
	return ""
}

// notPermitted is the hint for a refusal by the server. The server gives the reason only
// as text: one code stands for all reasons.
func notPermitted(err error) string {
	for _, w := range []struct{ says, hint string }{
		{access.ErrPermission.Error(), "See 'catfish keys' for what a key may do."},
		{"backups:", "'catfish serve --data-dir DIR --backup-dir DIR' lets clients make backups."},
		{"cannot be kept", "'catfish serve --data-dir DIR' keeps collections; without --keep this one is in memory alone."},
		{"always exists", "Only what clients have created can be dropped."},
		{"not created by a client", "Only what clients have created can be dropped; 'catfish serve' without its name drops this one."},
		{"are fixed", "--client-collections of 'catfish serve' says how many collections clients may create."},
	} {
		if strings.Contains(err.Error(), w.says) {
			return "\n" + w.hint
		}
	}
	return ""
}
