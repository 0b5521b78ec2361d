//go:build !linux

package affinity

import "os/exec"

// Start is cmd.Start: this platform has no masks.
func Start(cmd *exec.Cmd, _ Set) error { return cmd.Start() }
