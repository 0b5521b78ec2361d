//go:build !linux

package peers

import "github.com/catfish-index/catfish/internal/affinity"

// pinThread is for Linux only.
func pinThread(int) (undo func(), err error) { return nil, affinity.ErrUnsupported }
