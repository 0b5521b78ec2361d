package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrUsage is wrapped by errors about the arguments. Nothing was measured.
var ErrUsage = errors.New("bad comparison")

// Candidate is a scheme of a binary.
type Candidate struct {
	Name   string `json:"name"` // in the table; unique
	Binary string `json:"binary"`
	Scheme string `json:"scheme"`
	// Digest of the binary, and Commit, which the binary reports, are set by
	// Check.
	Digest string `json:"digest"`
	Commit string `json:"commit"`
}

// ParseCandidate reads NAME=BINARY:SCHEME, or SCHEME, which uses the binary
// self and is its own name. Errors wrap ErrUsage.
func ParseCandidate(text, self string) (Candidate, error) {
	name, rest, named := strings.Cut(text, "=")
	if !named {
		if text == "" || strings.ContainsAny(text, ":/") {
			return Candidate{}, malformed(text)
		}
		return Candidate{Name: text, Binary: self, Scheme: text}, nil
	}
	// The last colon: a path may have some, a scheme has none.
	at := strings.LastIndexByte(rest, ':')
	if at < 0 {
		return Candidate{}, malformed(text)
	}
	c := Candidate{Name: name, Binary: rest[:at], Scheme: rest[at+1:]}
	if c.Name == "" || c.Binary == "" || c.Scheme == "" {
		return Candidate{}, malformed(text)
	}
	return c, nil
}

func malformed(text string) error {
	return fmt.Errorf("%w: candidate %q, want NAME=BINARY:SCHEME or SCHEME", ErrUsage, text)
}

// ParseCandidates reads a list, of which no two have the same name.
func ParseCandidates(texts []string, self string) ([]Candidate, error) {
	var all []Candidate
	seen := map[string]bool{}
	for _, text := range texts {
		c, err := ParseCandidate(text, self)
		if err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("%w: two candidates are called %s, want NAME=BINARY:SCHEME with other names", ErrUsage, c.Name)
		}
		seen[c.Name] = true
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no candidate", ErrUsage)
	}
	return all, nil
}

// checkLimit is far more than the smallest simulation takes.
const checkLimit = time.Minute

// Check finds the binary, takes its digest, and makes it try the scheme, in
// the smallest simulation. Errors wrap ErrUsage.
func (c *Candidate) Check(ctx context.Context) error {
	path, err := exec.LookPath(c.Binary)
	if err != nil {
		return fmt.Errorf("%w: candidate %s: %w", ErrUsage, c.Name, err)
	}
	c.Binary = path
	if c.Digest, err = digest(path); err != nil {
		return fmt.Errorf("%w: candidate %s: %w", ErrUsage, c.Name, err)
	}
	args := strings.Fields("bench sim --objects 1000 --clients 1 --duration 1ms --warmup 1ms --scheme " + c.Scheme + " --json -")
	out, err := call(ctx, checkLimit, c.Binary, args)
	if ctx.Err() != nil {
		return err
	}
	var rows []row
	if err == nil {
		rows, err = readRows(out)
	}
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("'%s %s' printed %d rows, want 1", c.Binary, strings.Join(args, " "), len(rows))
	}
	if err != nil {
		return fmt.Errorf("%w: candidate %s cannot run scheme %q: %w", ErrUsage, c.Name, c.Scheme, err)
	}
	c.Commit = rows[0].Commit
	return nil
}

// digest identifies a build: half of the SHA-256 of the file.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
