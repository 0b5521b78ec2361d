package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Output is where results go: a table for people, and rows of JSON.
type Output struct {
	Table, Rows io.Writer
	file        *os.File
}

// OpenOutput opens the file of --json, so that a typing error in its name does not cost
// the measurement. The name - means standard output; the table then goes to standard
// error. Without a name rows are dropped.
func OpenOutput(stdout, stderr io.Writer, name string) (*Output, error) {
	switch name {
	case "":
		return &Output{Table: stdout, Rows: io.Discard}, nil
	case "-":
		return &Output{Table: stderr, Rows: stdout}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("--json: %w", err)
	}
	return &Output{stdout, f, f}, nil
}

// Row writes a row as one line.
func (o *Output) Row(row any) error {
	if err := json.NewEncoder(o.Rows).Encode(row); err != nil {
		return fmt.Errorf("bench: writing a row: %w", err)
	}
	return nil
}

// Close closes the file.
func (o *Output) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Report runs a measurement, writes each row when it is done, so that an interrupted run
// keeps its finished rows, and then the table of all.
func Report[R any](stdout, stderr io.Writer, name string, run func(done func(R)) error, table func(io.Writer, []R) error) error {
	o, err := OpenOutput(stdout, stderr, name)
	if err != nil {
		return err
	}
	var rows []R
	var failed error
	err = run(func(r R) {
		if rows = append(rows, r); failed == nil {
			failed = o.Row(r)
		}
	})
	return errors.Join(err, table(o.Table, rows), failed, o.Close())
}

// ReadRows reads rows, one JSON value after another.
func ReadRows[R any](r io.Reader) (rows []R, err error) {
	for d := json.NewDecoder(r); ; {
		var row R
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}
