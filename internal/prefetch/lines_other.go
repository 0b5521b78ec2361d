//go:build !amd64 && !arm64

package prefetch

import "unsafe"

// Lines does nothing: Go has no such instruction for other processors.
func Lines(unsafe.Pointer, int) {}
