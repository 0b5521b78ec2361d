//go:build !linux

package rstar

// adviseHuge does nothing here.
func adviseHuge([]byte) {}
