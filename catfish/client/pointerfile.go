package client

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/catfish-index/catfish/catfish/model"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/wire"
)

// The file of Options.SharedPointers that is named by pointersAuto.
const pointersAuto, pointersName = "auto", "catfish-pointers"

// pointerFile is a file of shared references that clients of this process have mapped, or why not.
type pointerFile struct {
	*records.PointerFile
	err error
}

// openPointerFile maps the file of Options.SharedPointers, once for all clients with the
// same Shared.
func (c *connection) openPointerFile() error {
	path := c.opts.SharedPointers
	switch {
	case path == "":
		return nil
	case c.cacheBytes() == 0:
		return fmt.Errorf("%w: SharedPointers without a cache; set CacheBytes, or a policy that has one", model.ErrOption)
	case path == pointersAuto:
		dir := os.Getenv("XDG_RUNTIME_DIR")
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("%w: SharedPointers %q is in $XDG_RUNTIME_DIR, which is %q, want a path from the root; or name a file",
				model.ErrOption, path, dir)
		}
		path = filepath.Join(dir, pointersName)
	}
	f, leave := c.opts.Shared.pointerFiles.Share(path, func() (f pointerFile) {
		f.PointerFile, f.err = records.OpenPointerFile(path, c.cacheBytes(), wire.Monotonic)
		return f
	})
	if f.err != nil {
		leave()
		return fmt.Errorf("%w: SharedPointers: %w", model.ErrOption, f.err)
	}
	c.pointers, c.leavePointers = f.PointerFile, leave
	return nil
}
