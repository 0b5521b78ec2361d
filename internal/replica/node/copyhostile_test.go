package node

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/windows"
)

// played is a source that is played by a test.
type played struct {
	pieceWriter
	sent atomic.Int64
}

// playSource answers one learner, up to the offer, and calls play. It returns what FetchCopy
// does.
func playSource(t *testing.T, transport string, play func(s *played) error) error {
	t.Helper()
	g := &group{t: t, decider: newDecider(), transport: transport}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dev := g.openRings(ln.Addr().String())
	done := make(chan error, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		s := &played{}
		s.c, s.count = moving{c}, &s.sent
		r := bufio.NewReader(c)
		var hi greeting
		if err = errors.Join(readLine(r, &hi), writeLine(c, welcome{})); err == nil && dev != nil {
			s.said = r
			s.source, err = acceptSource(t.Context(), c, r, dev)
		}
		if err == nil {
			err = play(s)
		}
		if s.source != nil {
			s.source.Close()
		}
		done <- err
	}()
	root := t.TempDir()
	o, _ := g.learner()
	err = FetchCopy(t.Context(), o, ln.Addr().String(), filepath.Join(root, "in", "copy"))
	if played := <-done; played != nil && !errors.Is(played, errLearner) {
		t.Fatal(played)
	}
	if dev != nil {
		_, _ = dev.ln.Close(), dev.dev.Close()
	}
	if left, e := os.ReadDir(root); err != nil && (e != nil || len(left) > 1) {
		t.Errorf("files are left: %v, %v", left, e)
	} else if left, e := os.ReadDir(filepath.Join(root, "in")); err != nil && (e != nil || len(left) > 0) {
		t.Errorf("files are left: %v, %v", left, e)
	}
	return err
}

// errLearner: the learner has ended, as it should.
var errLearner = errors.New("the learner has ended")

func acceptSource(ctx context.Context, c net.Conn, r *bufio.Reader, dev *testRings) (*windows.Source, error) {
	if err := writeLine(c, invitation{Ticket: 5, Boot: 7}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := dev.ln.Accept(ctx)
	if err != nil {
		return nil, err
	}
	if h, err := layout.DecodeHello(req.PrivateData()); err != nil || !h.Copy {
		return nil, errors.Join(fmt.Errorf("hello %+v", h), err, req.Reject("no hello"))
	}
	s, err := windows.Accept(dev.dev, req)
	var is joining
	return s, errors.Join(err, readLine(r, &is))
}

// tarOf is a tar with entries, and the end of a copy.
func tarOf(t *testing.T, end bool, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		h.Mode = 0o600
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.WriteHeader(&tar.Header{Name: lastFile}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hole is a tar whose file of a GiB is a hole: a sparse file of GNU's old format.
func hole() []byte {
	b := make([]byte, 3*512)
	copy(b, "hole")
	copy(b[100:], "0000600\x00")
	copy(b[124:], "00000000000\x00") // its bytes in the tar
	b[156] = tar.TypeGNUSparse
	copy(b[257:], "ustar  \x00")
	copy(b[386:], "10000000000\x0000000000000\x00") // a part of no bytes at the end
	copy(b[483:], "10000000000\x00")                // its size: 1 GiB
	copy(b[148:], "        ")
	var sum int
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// What no source of a copy sends is refused, and leaves nothing: neither in the directory nor
// outside.
func TestHostileSource(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}
	}
	sends := func(of offer, b []byte) func(s *played) error {
		return func(s *played) error {
			if err := writeLine(s.c, of); err != nil {
				return errLearner
			}
			if _, err := s.Write(b); err != nil || s.Close() != nil {
				return errLearner
			}
			return nil
		}
	}
	one, good := offer{Files: 1, Bytes: 3}, tarOf(t, true, file("f", 3))
	// line sends a piece whose line, or bytes, are not good.
	line := func(change func(p *piece, b []byte)) func(s *played) error {
		return func(s *played) error {
			is, good := piece{Bytes: len(good), Sum: crc32.Checksum(good, castagnoli)}, bytes.Clone(good)
			change(&is, good)
			err := writeLine(s.c, one)
			if s.source != nil {
				copy(s.source.Window(0), good)
			}
			if err == nil {
				err = writeLine(s.c, is)
			}
			if err == nil && s.source == nil {
				_, err = s.c.Write(good)
			}
			if err == nil {
				_, err = s.c.Read(make([]byte, 1)) // until the learner ends
			}
			return errors.Join(errLearner, err)
		}
	}
	for _, c := range []struct {
		name  string
		says  string // "": it is taken
		reads bool   // by Reads alone
		play  func(s *played) error
	}{
		{"what it should", "", false, sends(one, good)},
		{"in a directory", "", false, sends(offer{Files: 2, Bytes: 3}, tarOf(t, true, tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, file("d/f", 3)))},
		{"a file outside", "escapes", false, sends(one, tarOf(t, true, file("../../f", 3)))},
		{"an absolute name", "escapes", false, sends(one, tarOf(t, true, file("/tmp/f", 3)))},
		{"a directory outside", "escapes", false, sends(one, tarOf(t, true, tar.Header{Typeflag: tar.TypeDir, Name: "../d/"}))},
		{"a link", "neither file nor", false, sends(one, tarOf(t, true, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/"}))},
		{"the same name twice", "exists", false, sends(offer{Files: 2, Bytes: 6}, tarOf(t, true, file("f", 3), file("f", 3)))},
		{"more bytes than offered", "more than was offered", false, sends(one, tarOf(t, true, file("f", 4)))},
		{"more bytes in two files", "more than was offered", false, sends(offer{Files: 2, Bytes: 5}, tarOf(t, true, file("f", 3), file("g", 3)))},
		{"more files than offered", "more than was offered", false, sends(one, tarOf(t, true, file("f", 1), file("g", 1)))},
		{"a hole", "more than was offered", false, sends(offer{Files: 1, Bytes: 1 << 20}, hole())},
		{"no end", "before all files", false, sends(one, tarOf(t, false, file("f", 3)))},
		{"half a tar", "before all files", false, sends(one, good[:700])},
		{"half a file", io.ErrUnexpectedEOF.Error(), false, sends(one, good[:514])},
		{"a file after the end", "after the last file", false, sends(one, append(bytes.Clone(good[:1536]), tarOf(t, false, file("g", 1))...))},
		{"more after the end", "after its end", false, sends(one, append(bytes.Clone(good), 0))},
		{"no tar", "tar", false, sends(one, bytes.Repeat([]byte("x"), 2048))},
		{"a negative offer", "-1 files", false, sends(offer{Files: -1}, nil)},
		{"more than fits", "no room", false, sends(offer{Files: 1, Bytes: 1 << 62}, nil)},
		{"no offer", "no line of a member", false, func(s *played) error { return errors.Join(errLearner, writeLine(s.c, "x")) }},
		{"nothing", io.ErrUnexpectedEOF.Error(), false, func(s *played) error { return writeLine(s.c, one) }},
		{"a flipped bit", "has sum", false, line(func(_ *piece, b []byte) { b[512] ^= 1 })},
		{"a piece longer than a window", "a piece of", false, line(func(p *piece, _ []byte) { p.Bytes = windows.Bytes + 1 })},
		{"a negative piece", "a piece of -1", false, line(func(p *piece, _ []byte) { p.Bytes = -1 })},
		{"a piece outside the windows", "from 16777215 on", true, line(func(p *piece, _ []byte) { p.At = windows.Count*windows.Bytes - 1 })},
		{"a piece around zero", "from 18446744073709551615", true, line(func(p *piece, _ []byte) { p.At = 1<<64 - 1 })},
		{"another window", "has sum", true, line(func(p *piece, _ []byte) { p.At = windows.Bytes })},
		{"its memory goes away", ": ", true, func(s *played) error {
			s.source.Close()
			s.source = nil
			return errors.Join(writeLine(s.c, one), writeLine(s.c, piece{Bytes: 100}))
		}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for _, transport := range append(testTransports(), streamTransport) {
				if c.reads && transport == streamTransport {
					continue
				}
				err := playSource(t, transport, c.play)
				switch {
				case c.says == "" && err != nil, c.says != "" && (!errors.Is(err, ErrCopy) || !strings.Contains(err.Error(), c.says)):
					t.Errorf("%s: %v, want %q", transport, err, c.says)
				}
			}
		})
	}
}

// A learner that counts other pieces than it was sent ends the copy.
func TestHostileLearner(t *testing.T) {
	for _, says := range []string{`{"pieces":2}`, `{"pieces":0}`, `{"pieces":-1}`, "x", ""} {
		w := pieceWriter{said: bufio.NewReaderSize(strings.NewReader(says+"\n"), lineBytes), sent: windows.Count}
		if err := w.await(windows.Count - 1); err == nil {
			t.Errorf("%q is taken", says)
		}
	}
}
