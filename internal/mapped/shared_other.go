//go:build !linux

package mapped

import "errors"

// OpenShared is for Linux: the error wraps errors.ErrUnsupported.
func OpenShared(string, int64, []byte) ([]byte, error) { return nil, errors.ErrUnsupported }
