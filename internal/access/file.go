package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The file of keys is text, in which each line is an entry as one JSON object.
// Empty lines, and those that begin with #, are left alone:
//
//	# front ends
//	{"id":"3f9a1c2b4d5e","name":"web","hash":"sha256:8d0e...","roles":["cafes:read"],"rate":500}
//
// An unknown field is an error, since it might be a limit that was mistyped. The
// file is replaced as a whole: a reader sees it before or after a change.

// Parse reads a file of keys. Errors wrap ErrFile and name the line.
func Parse(text []byte) ([]Entry, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", ErrFile, len(text), MaxFileBytes)
	}
	var all []Entry
	seen := map[string]int{}
	for n := 1; len(text) > 0; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		e, ok, err := parseLine(line)
		if err == nil && ok {
			if before, twice := seen[e.ID]; twice {
				err = fmt.Errorf("key %s is in line %d, too", e.ID, before)
			} else if len(all) == maxKeys {
				err = fmt.Errorf("%w, want at most %d", errTooMany, maxKeys)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFile, n, err)
		}
		if ok {
			seen[e.ID] = n
			all = append(all, e)
		}
	}
	return all, nil
}

// parseLine reads one line; ok is false if there is no entry in it.
func parseLine(line []byte) (e Entry, ok bool, err error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] == '#' {
		return e, false, nil
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, false, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return e, false, errors.New("more than one JSON object")
	}
	_, err = e.rule()
	return e, err == nil, err
}

// ReadFile reads the entries of a file.
func ReadFile(file string) ([]Entry, error) {
	text, err := readText(file)
	if err != nil {
		return nil, err
	}
	all, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// readText reads no more than a file of keys may have, whatever the file is.
func readText(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}

// Add appends an entry to a file, which it makes if there is none. ErrNameTaken:
// another entry has the same name, and the name is not empty.
func Add(file string, e Entry) error {
	return change(file, func(text []byte) ([]byte, error) {
		all, err := Parse(text)
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			if e.Name != "" && o.Name == e.Name {
				return nil, fmt.Errorf("%w: %q is key %s; revoke that first, or choose another name", ErrNameTaken, e.Name, o.ID)
			}
		}
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		return append(append(text, line...), '\n'), nil
	})
}

// Revoke removes the entry of an id, or of a name that only one entry has. It returns
// that entry.
func Revoke(file, idOrName string) (removed Entry, err error) {
	err = change(file, func(text []byte) ([]byte, error) {
		all, err := Parse(text)
		if err != nil {
			return nil, err
		}
		if removed, err = find(all, idOrName); err != nil {
			return nil, err
		}
		var kept []byte
		for line := range bytes.Lines(text) {
			if e, ok, _ := parseLine(line); !ok || e.ID != removed.ID {
				kept = append(kept, line...)
			}
		}
		return kept, nil
	})
	return removed, err
}

func find(all []Entry, idOrName string) (Entry, error) {
	var found []Entry
	for _, e := range all {
		if e.ID == idOrName {
			return e, nil
		}
		if e.Name == idOrName {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 0:
		return Entry{}, fmt.Errorf("%w: %q", ErrUnknownKey, idOrName)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return Entry{}, fmt.Errorf("%w: %d keys have the name %q, want one of the ids %s",
		ErrUnknownKey, len(found), idOrName, strings.Join(ids, ", "))
}

// change replaces a file by the result of edit, if that is well-formed. The new
// file has the old one's mode, or else only this user may access it. The new file is
// created exclusively, which keeps two programs from changing the file at the same time.
func change(file string, edit func(text []byte) ([]byte, error)) (err error) {
	// A file that is a link stays one.
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	next := file + ".new"
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s exists; if no other program changes the keys now, one ended halfway: remove it", ErrBusy, next)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			err = errors.Join(err, os.Remove(next))
		}
	}()
	text, err := readText(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text, err = edit(text); err != nil {
		return err
	}
	if _, err := Parse(text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(next, file)
}
