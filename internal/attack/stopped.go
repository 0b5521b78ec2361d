package attack

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"
)

var stopped = Attack{
	Name: "stopped", shows: "stopped",
	What: "client processes that are stopped while they take large answers, and killed later",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(4, 1), func(ctx context.Context, _ int) error {
			cmd := exec.CommandContext(ctx, selfPath, os.Args[1:]...)
			in, err := cmd.StdinPipe()
			if err != nil {
				return err
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				return err
			}
			defer func() { _ = cmd.Wait() }()
			defer func() { _ = cmd.Process.Kill() }()
			job := e.job
			job.Attack, job.Small = longRequests.Name, true
			if err := json.NewEncoder(in).Encode(job); err != nil {
				return err
			}
			pause(ctx, time.Second+rand.N(time.Second))
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			e.count("stopped", 1)
			pause(ctx, unreadTime)
			return nil
		})
	},
}

// selfPath is this program.
const selfPath = "/proc/self/exe"
