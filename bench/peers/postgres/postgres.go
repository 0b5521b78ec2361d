//go:build linux

// Package postgres starts PostgreSQL servers of their own, which keep their data in a
// directory that the caller removes.
package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/catfish-index/catfish/bench/harness"
)

// User is the user of its processes, and its administrator's name: it refuses root.
const User = "postgres"

// Start makes a database in dir/data, as a user that is not root, to whom dir is given, and
// starts the server on some cores. The caller waits until it answers.
func Start(ctx context.Context, programs, dir, cpus string, settings ...string) (*harness.Program, error) {
	var who *syscall.Credential
	if os.Geteuid() == 0 {
		var err error
		if who, err = credential(); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "-D", data, "-A", "trust", "-U", User, "-E", "UTF8",
		"--locale", "C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{filepath.Join(programs, "postgres"), "-D", data}
	for _, set := range settings {
		args = append(args, "-c", set)
	}
	return harness.StartProgram(cpus, who, dir, args...)
}

func credential() (*syscall.Credential, error) {
	u, err := user.Lookup(User)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
