// Command attack attacks a server, and reports the effect on its other clients.
//
//	make attack ATTACK=all
//	bin/attack --attack mix --duration 10m --server-flags '--memory-limit 2GiB'
//	bin/attack --soak 1h --out soak
//	bin/attack --list
//
// It ends with status 1 if a promise does not hold.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/test/attack"
)

// childArg makes this program an attacker's process.
const childArg = "attacker-process"

func main() {
	if len(os.Args) == 2 && os.Args[1] == childArg {
		if err := attack.ChildMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func spawn(child.Role, affinity.Set) *exec.Cmd { return exec.Command("/proc/self/exe", childArg) }

func run(ctx context.Context) (ok bool, err error) {
	cfg := attack.Config{Spawn: spawn}
	var name, flags, file, log, out string
	var list bool
	var soak time.Duration
	flag.StringVar(&name, "attack", "all", "an attack, all one by one, or mix: all at the same time")
	flag.BoolVar(&list, "list", false, "list the attacks")
	flag.StringVar(&cfg.Binary, "binary", "bin/catfish", "the server")
	flag.Int64Var(&cfg.Objects, "objects", 1_000_000, "in the server's tree")
	flag.StringVar(&cfg.CPUs, "server-cpus", "", "cores of the server, by taskset; the clients have those of this program")
	flag.StringVar(&flags, "server-flags", "", "more flags for 'catfish serve', separated by spaces")
	flag.StringVar(&log, "server-log", "", "file for the server's log; empty: none")
	flag.BoolVar(&cfg.Small, "small", false, "attack as tests do")
	flag.BoolVar(&cfg.SameHost, "same-host", false, "attackers share the honest clients' host address")
	flag.Float64Var(&cfg.Rate, "rate", 500, "of each honest client, requests per second at most")
	flag.DurationVar(&cfg.Alone, "alone", 5*time.Second, "measurement before the attack")
	flag.DurationVar(&cfg.Duration, "duration", 15*time.Second, "of each attack")
	flag.DurationVar(&cfg.After, "after", time.Minute, "within which all must be given back")
	flag.StringVar(&file, "json", "", "file for the results, a line each")
	flag.DurationVar(&soak, "soak", 0, "instead of attacks, churn clients, collections and writes for so long")
	flag.StringVar(&out, "out", "soak", "directory for the plots and samples of --soak")
	flag.Parse()
	cfg.Flags = strings.Fields(flags)
	if flag.NArg() > 0 {
		return false, fmt.Errorf("attack: unexpected argument %q", flag.Arg(0))
	}
	if list {
		for _, a := range attack.Attacks() {
			fmt.Printf("%-18s %s\n", a.Name, a.What)
		}
		return true, nil
	}
	if log != "" {
		f, err := os.Create(log)
		if err != nil {
			return false, err
		}
		defer f.Close()
		cfg.Log = f
	}
	if soak > 0 {
		cfg.Duration = soak
		return soakFor(ctx, cfg, out)
	}
	var lines *json.Encoder
	if file != "" {
		f, err := os.Create(file)
		if err != nil {
			return false, err
		}
		defer f.Close()
		lines = json.NewEncoder(f)
	}
	sets, err := choose(name)
	if err != nil {
		return false, err
	}
	ok = true
	for _, set := range sets {
		cfg.Attacks, cfg.Name = set, set[0].Name
		if len(set) > 1 {
			cfg.Name = name
		}
		held, err := one(ctx, cfg, lines)
		if err != nil {
			return false, err
		}
		ok = ok && held
	}
	return ok, nil
}

// choose returns the attacks of each measurement.
func choose(name string) (sets [][]attack.Attack, err error) {
	switch name {
	case "mix":
		return [][]attack.Attack{attack.Attacks()}, nil
	case "all":
		for _, a := range attack.Attacks() {
			sets = append(sets, []attack.Attack{a})
		}
		return sets, nil
	}
	for n := range strings.SplitSeq(name, ",") {
		a, ok := attack.Find(n)
		if !ok {
			return nil, fmt.Errorf("attack: no attack %q; --list names them", n)
		}
		sets = append(sets, []attack.Attack{a})
	}
	return sets, nil
}

// one measures, and reports whether all promises held.
func one(ctx context.Context, cfg attack.Config, lines *json.Encoder) (bool, error) {
	row, err := attack.Run(ctx, cfg)
	if err != nil {
		return false, err
	}
	if err := row.Print(os.Stdout); err != nil {
		return false, err
	}
	broken := row.Broken(cfg.Attacks, true)
	for _, b := range broken {
		fmt.Printf("BROKEN: %s\n", b)
	}
	fmt.Println()
	if lines != nil {
		if err := lines.Encode(row); err != nil {
			return false, err
		}
	}
	return len(broken) == 0, nil
}
