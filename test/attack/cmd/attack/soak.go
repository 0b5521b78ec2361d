package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/test/attack"
)

// soakFor writes a report and samples.csv into dir, and reports whether
// everything was flat and right.
func soakFor(ctx context.Context, cfg attack.Config, dir string) (bool, error) {
	samples, row, err := attack.Soak(ctx, cfg)
	if len(samples) == 0 {
		return false, err
	}
	// What was measured until a failure is still useful.
	err = errors.Join(err, write(dir, samples, &row))
	if perr := row.Print(os.Stdout); err == nil {
		err = perr
	}
	broken := append(attack.Grew(samples), row.Broken(nil, false)...)
	for _, b := range broken {
		fmt.Printf("BROKEN: %s\n", b)
	}
	return len(broken) == 0, err
}

func write(dir string, samples []attack.Sample, row *attack.Row) error {
	if err := report.Write(dir, attack.SoakReport(samples, row)); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "samples.csv"))
	if err != nil {
		return err
	}
	return errors.Join(attack.WriteSamples(f, samples), f.Close())
}
