//go:build !linux

package disk

import "testing"

// mountTmpfs: its test is for Linux.
func mountTmpfs(t *testing.T, _ string) { t.Fatal("no tmpfs here") }
