package wire

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/names"
)

// CheckBackupName accepts one directory, not a path that leads elsewhere.
func CheckBackupName(name string) error {
	if err := CheckName(name); err != nil || name != filepath.Base(name) || !filepath.IsLocal(name) || name == "." {
		return fmt.Errorf("%w: backup %q, want the name of a directory, without a path", model.ErrOption, name)
	}
	return nil
}

// KindOf is the kind of a collection of records, or else of boxes.
func KindOf(records bool) string {
	if records {
		return model.KindRecords
	}
	return model.KindBoxes
}

const (
	// MaxWindow bounds Window: a server over soft keeps that number of answers
	// for a client that does not take them.
	MaxWindow = 1024
	// MaxReadChannels bounds concurrent offloaded searches of the clients that
	// share read channels; more queue pairs than that would only fill the card's
	// cache.
	MaxReadChannels = 64
	// MaxWorkers bounds ServerOptions.Workers: more than any machine has cores for.
	MaxWorkers = 1024
)

// CheckInterval returns ErrOption for a heartbeat interval outside its range.
func CheckInterval(d time.Duration) error {
	if d < time.Millisecond || d > 10*time.Second {
		return fmt.Errorf("%w: heartbeat interval %v, want 1ms..10s", model.ErrOption, d)
	}
	return nil
}

// CheckName checks the name of a collection that is to be created.
func CheckName(n string) error {
	if err := names.Check(n); err != nil {
		return fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	return nil
}

// CheckFind checks the name of a collection that may predate the rule. Names with
// slashes are those of shards (ShardName), which are no collections to clients.
func CheckFind(n string) error {
	err := names.CheckLength(n)
	if err == nil && strings.Contains(n, "/") {
		err = fmt.Errorf("%w: %q, want no slashes", names.ErrName, n)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	return nil
}

// KeepBytes is the largest answer buffer that a service keeps between requests.
const KeepBytes = 1 << 20

// AppendBool appends a byte, 1 for true.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// MaxNode is the largest node that clients have read buffers for: rstar
// allows 3904 bytes.
const MaxNode = 4096

// RestInterval is the time between the heartbeats of a client that has sent no
// request for a second: over sockets, where a heartbeat takes 5 us, ten thousand
// such clients take 5 % of a core.
const RestInterval = time.Second
