package status

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

func TestErrorsThatWrapSeveralSentinels(t *testing.T) {
	join := func(errs ...error) error { return fmt.Errorf("store: %w", errors.Join(errs...)) }
	for _, c := range []struct {
		err    error
		wire   uint16
		grpc   codes.Code
		reason string
		http   int
	}{
		{join(store.ErrClosed, store.ErrUnknownCollection), UnknownCollection, codes.NotFound, ReasonNoCollection, 404},
		{join(store.ErrLagged, disk.ErrTrimmed), Lagged, codes.OutOfRange, ReasonLagged, 410},
		{join(store.ErrLagged, store.ErrSwapped), Lagged, codes.Aborted, ReasonSwapped, 410},
		{join(store.ErrQuery, filter.ErrFilter), Query, codes.InvalidArgument, ReasonBadFilter, 400},
		{join(store.ErrFeature, feature.ErrTooLarge), Feature, codes.InvalidArgument, ReasonFeatureTooLarge, 422},
		{join(store.ErrFeature, feature.ErrSyntax), Feature, codes.InvalidArgument, ReasonBadProperties, 400},
		{join(fault.ErrNotPermitted, access.ErrPermission), NotPermitted, codes.PermissionDenied, ReasonNoRole, 403},
		{access.ErrPermission, NotPermitted, codes.PermissionDenied, ReasonNoRole, 403},
		{fault.ErrMoved, Moved, codes.Unavailable, ReasonMoved, 503},
		{store.ErrName, Name, codes.InvalidArgument, ReasonBadField, 400},
		{errors.New("other"), Internal, codes.Internal, ReasonInternal, http.StatusInternalServerError},
	} {
		if got := Wire(c.err); got != c.wire {
			t.Errorf("%v: wire code %d, want %d", c.err, got, c.wire)
		}
		if code, reason, _ := GRPC(c.err); codes.Code(code) != c.grpc || reason != c.reason {
			t.Errorf("%v: gRPC %v %s, want %v %s", c.err, codes.Code(code), reason, c.grpc, c.reason)
		}
		if got := HTTP(c.err); got != c.http {
			t.Errorf("%v: HTTP %d, want %d", c.err, got, c.http)
		}
	}
}

// A client finds the error that the server had, of the errors with its code the
// one that clients are promised.
func TestWireCodesComeBackAsSentinels(t *testing.T) {
	for code := BadRequest; code <= SeveralGroups; code++ {
		if err := OfWire(code); err == fault.ErrServer || Wire(err) != code {
			t.Errorf("code %d is %v, whose code is %d", code, err, Wire(err))
		}
	}
	for code, want := range map[uint16]error{
		0: fault.ErrServer, Internal: fault.ErrServer, 999: fault.ErrServer, Busy: fault.ErrBusy, Closed: rstar.ErrClosed, Lagged: store.ErrLagged, UnknownOutcome: fastmsg.ErrUnknownOutcome,
		NotPermitted: fault.ErrNotPermitted, RecordsFull: record.ErrFull, NotFound: kv.ErrNotFound,
		Unauthenticated: access.ErrUnauthenticated, RateLimited: access.ErrRateLimited,
	} {
		if got := OfWire(code); got != want {
			t.Errorf("code %d is %v, want %v", code, got, want)
		}
	}
}

func TestRowsHaveAllColumns(t *testing.T) {
	for _, r := range table {
		if RetryOf(r.err) != r.retry && r.retry != 0 || r.retry == 0 && RetryOf(r.err) == Unknown {
			t.Errorf("%v: retry %d, its first row says %d", r.err, r.retry, RetryOf(r.err))
		}
		if r.wire == 0 && r.grpc == 0 && r.http == 0 {
			continue // of clients, not sent to a peer
		}
		// RFC 9110 section 15.6.4 and RFC 6585 section 4: these two ask for another attempt.
		if http := HTTP(r.err); (http == 503 || http == 429) != (RetryOf(r.err) == Safe) {
			t.Errorf("%v: HTTP %d, retry %d", r.err, http, RetryOf(r.err))
		}
		if code, _, _ := GRPC(r.err); code == unavailable && RetryOf(r.err) != Safe {
			t.Errorf("%v: gRPC unavailable, retry %d", r.err, RetryOf(r.err))
		}
		code, reason, ok := GRPC(r.err)
		switch {
		case errors.Is(r.err, feature.ErrSyntax), errors.Is(r.err, feature.ErrRange), errors.Is(r.err, feature.ErrInvalidGeometry),
			errors.Is(r.err, feature.ErrTooLarge), errors.Is(r.err, filter.ErrFilter), errors.Is(r.err, store.ErrSwapped):
			// They come wrapped in an error that has the other columns.
		case Wire(r.err) == Internal, !ok, code == 0, reason == "":
			t.Errorf("%v: wire code %d, gRPC %v %q", r.err, Wire(r.err), code, reason)
		}
		if HTTP(r.err) == 0 {
			t.Errorf("%v has no HTTP status", r.err)
		}
	}
}

// notForPeers are exported sentinels that are never sent to a peer, each with the
// reason.
var notForPeers = map[string]string{
	"store.ErrBudget":      "a step has ended; the search continues in the next one",
	"store.ErrCorrupt":     "the server's fault: internal",
	"store.ErrOwned":       "of moves between groups, which no client makes",
	"disk.ErrInDoubt":      "whether a write happened is unknown: internal",
	"disk.ErrNoLog":        "of Open, before there are peers",
	"disk.ErrFormat":       "of Open, before there are peers",
	"disk.ErrForeign":      "of Open, before there are peers",
	"disk.ErrLocked":       "of Open, before there are peers",
	"disk.ErrLost":         "of Open, before there are peers",
	"disk.ErrOptions":      "of Open, before there are peers",
	"disk.ErrExists":       "of backups, whose text says it: internal",
	"disk.ErrNoRoom":       "the cause of an ErrReadOnly",
	"disk.ErrEntry":        "the server's fault: internal",
	"disk.ErrCorrupt":      "the server's fault: internal",
	"kv.ErrOptions":        "of New, before there are peers",
	"access.ErrNameTaken":  "the key file's commands",
	"access.ErrFile":       "the key file's commands",
	"access.ErrUnknownKey": "the key file's commands",
	"access.ErrBusy":       "the key file's commands",
}

// Each sentinel of the packages below has a row, or a reason to have none.
func TestNoSentinelIsMissing(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				has[x.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	seen := 0
	for _, dir := range []string{"internal/fault", "internal/store", "internal/store/disk", "internal/kv", "internal/access"} {
		for _, name := range sentinels(t, filepath.Join("../..", dir)) {
			seen++
			name = filepath.Base(dir) + "." + name
			if reason := notForPeers[name]; has[name] == (reason != "") {
				t.Errorf("%s: in the table %t, reason to be left out %q", name, has[name], reason)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d sentinels, there are more", seen)
	}
}

// sentinels are the exported variables Err... of a package that are made by
// errors.New or fmt.Errorf.
func sentinels(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				for i, n := range v.Names {
					if !strings.HasPrefix(n.Name, "Err") || i >= len(v.Values) {
						continue
					}
					if _, made := v.Values[i].(*ast.CallExpr); made {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}
