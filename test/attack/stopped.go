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
			job := e.job
			job.Attack, job.Small = longRequests.Name, true
			cmd, end, err := another(ctx, job)
			if err != nil {
				return err
			}
			defer end()
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

// another starts one more attacker's process. end kills it.
func another(ctx context.Context, j Job) (cmd *exec.Cmd, end func(), err error) {
	cmd = exec.CommandContext(ctx, selfPath, os.Args[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = in.Close()
	}
	if err := json.NewEncoder(in).Encode(j); err != nil {
		end()
		return nil, nil, err
	}
	return cmd, end, nil
}

// selfPath is the path of this program.
const selfPath = "/proc/self/exe"
