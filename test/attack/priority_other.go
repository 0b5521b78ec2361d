//go:build !linux

package attack

// beLastToRun does nothing: attackers take their share of the cores.
func beLastToRun() error { return nil }

// beNormal does nothing, too.
func beNormal() error { return nil }
