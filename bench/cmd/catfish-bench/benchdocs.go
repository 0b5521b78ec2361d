package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/docs"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/internal/cli"
)

type docsFlags struct {
	out, store, date string
	quick, fresh     bool
}

func newBenchDocs(a *app) *cobra.Command {
	var f docsFlags
	c := &cobra.Command{
		Use:   "docs",
		Short: "Measure the project's page of benchmarks",
		Long: `Measure the project's page of benchmarks, docs/research/benchmarks.md: a fixed list of
commands, each printed above the table that it made, and one plot beside it
in a directory called plots. It takes most of an hour.

Each finished command is kept in --store, and the same call goes on where it
was interrupted. Results of another commit or machine are refused unless
--fresh discards them. What cannot run here (make bench-tree wants the
project's own directory) is left out, and the page says so.`,
		Example: `  catfish bench docs
  catfish bench docs --quick --store /tmp/quick --out /tmp/benchmarks.md`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.benchDocs(cmd.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.out, "out", "docs/research/benchmarks.md", "the page")
	fs.StringVar(&f.store, "store", "bench-docs", "directory of finished results")
	fs.StringVar(&f.date, "date", "", "date on the page; empty: the commit's, if the program knows it")
	fs.BoolVar(&f.quick, "quick", false, "every command, but too small and too short to mean anything")
	fs.BoolVar(&f.fresh, "fresh", false, "discard the results in --store")
	return c
}

func (a *app) benchDocs(ctx context.Context, f docsFlags) (err error) {
	if f.out == "" || f.store == "" {
		return cli.BadUsage("--out or --store is empty, want a file and a directory")
	}
	page := docs.Page{
		Sizes: docs.Full, Date: f.date,
		Settings: docs.Settings{Commit: cli.Commit(), Machine: bench.ThisMachine()},
	}
	if f.quick {
		page.Sizes = docs.Quick
	}
	if page.Date == "" {
		page.Date = commitDate()
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	results, torn, err := docs.Open(f.store, page.Settings, f.fresh)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, results.Close()) }()
	if torn {
		fmt.Fprintf(a.Err, "%s ended within a result, which is measured again\n", docs.ResultsFile)
	}
	show := newSteps(a.Err, cli.IsTerminal(a.Err))
	runner := docs.Runner{
		Sizes: page.Sizes, Settings: page.Settings, Store: results,
		Exec: func(ctx context.Context, args []string) (string, error) {
			return docsExec(ctx, exe, args, show.note)
		},
		Begin: func(n, of int, s docs.Step) { show.begin(n, of, s.Command) },
		End: func(n, of int, _ docs.Step, took, left time.Duration) {
			show.line(fmt.Sprintf("%d/%d took %s, about %s left", n, of, roughly(took), roughly(left)))
		},
	}
	page.LeftOut, err = runner.Run(ctx)
	show.end()
	page.Results = results.All()
	for name, why := range page.LeftOut {
		fmt.Fprintf(a.Err, "%s is left out: %s\n", name, why)
	}
	if err != nil {
		return fmt.Errorf("%w\nWhat was measured is kept: the same command goes on from here", err)
	}
	doc, err := page.Document()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.out), 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := report.WritePage(f.out, doc); err != nil {
		return err
	}
	return a.Printf("%d results, %s\n", len(page.Results), f.out)
}

// commitDate is the commit's date, which the Go tool wrote into the program.
func commitDate() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				return s.Value[:min(len("2006-01-02"), len(s.Value))]
			}
		}
	}
	return "not known"
}

// docsExec runs a command of the page, of this program or of make, and
// returns its standard output. Its other output goes to note, line by line.
func docsExec(ctx context.Context, exe string, args []string, note func(string)) (string, error) {
	name := args[0]
	if name == "catfish" {
		name = exe
	} else if _, err := os.Stat("bench/peers/run.sh"); err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args[:2], " "), docs.ErrMissing)
	}
	var out bytes.Buffer
	says := &lineWriter{line: note}
	cmd := exec.CommandContext(ctx, name, args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, says
	if name != exe {
		cmd.Stdout = io.MultiWriter(&out, says) // A table at its end, after an hour.
	}
	// A process group of its own: Ctrl-C reaches this process, which ends
	// the command in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = docsExit
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, says.last)
	}
	return out.String(), nil
}

// docsExit is how long an interrupted command may take to end its own
// children before it is killed.
const docsExit = 20 * time.Second

// lineWriter passes on whole lines. Standard output and standard error may
// both write to it.
type lineWriter struct {
	line func(string)
	mu   sync.Mutex
	rest []byte
	last string
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		if line := strings.TrimSpace(string(w.rest[:i])); line != "" {
			w.last = line
			w.line(line)
		}
		w.rest = w.rest[i+1:]
	}
}
