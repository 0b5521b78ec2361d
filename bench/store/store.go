// Package store keeps the results of a long run, so that an interrupted run
// can continue.
package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrBusy is wrapped when another run uses a file.
var ErrBusy = errors.New("another run uses this directory")

// ErrLine is wrapped when a line is no value of this program's.
var ErrLine = errors.New("unknown line")

// Lines is a file of JSON values, a line each, of which no two have the
// same key. It locks the file against other runs until it is closed.
type Lines[T any] struct {
	file *os.File
	key  func(T) string
	all  map[string]T
}

// Open reads a file, and creates it and its directory if they are missing.
// With fresh it discards the values; else each value must pass check. It cuts
// off a line that a killed run left unfinished; torn reports this.
func Open[T any](path string, fresh bool, key func(T) string, check func(T) error) (l *Lines[T], torn bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, false, fmt.Errorf("store: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, false, fmt.Errorf("store: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, false, fmt.Errorf("store: locking %s: %w", path, err)
	}
	if fresh {
		if err := f.Truncate(0); err != nil {
			return nil, false, fmt.Errorf("store: %w", err)
		}
	}
	l = &Lines[T]{file: f, key: key, all: map[string]T{}}
	end, err := l.read(check)
	if err != nil {
		return nil, false, fmt.Errorf("store: %s: %w", path, err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > end {
		torn = true
		if err = f.Truncate(end); err == nil {
			_, err = f.Seek(end, io.SeekStart)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("store: %w", err)
	}
	return l, torn, nil
}

// read decodes the whole lines, and returns the end of the last one.
func (l *Lines[T]) read(check func(T) error) (end int64, err error) {
	lines := bufio.NewReader(l.file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		var v T
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields() // Refuse those of an older or newer program.
		if err := d.Decode(&v); err != nil {
			return 0, fmt.Errorf("%w %d: %w", ErrLine, n, err)
		}
		if err := check(v); err != nil {
			return 0, err
		}
		l.all[l.key(v)] = v
		end += int64(len(line))
	}
}

// Add appends a value, on disk when it returns.
func (l *Lines[T]) Add(v T) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = l.file.Write(append(b, '\n'))
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("store: keeping %s: %w", l.key(v), err)
	}
	l.all[l.key(v)] = v
	return nil
}

// Has reports whether a value of this key exists.
func (l *Lines[T]) Has(key string) bool {
	_, ok := l.all[key]
	return ok
}

// All returns the values by key.
func (l *Lines[T]) All() map[string]T { return l.all }

// Close unlocks and closes the file.
func (l *Lines[T]) Close() error { return l.file.Close() }
