//go:build !linux

package rstar

// adviseHuge: nothing to ask for here.
func adviseHuge([]byte) {}
