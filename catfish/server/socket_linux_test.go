package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma/shm"
)

var (
	asUser = catfishtest.AsUser
	openUp = catfishtest.OpenUp
	place  = catfishtest.Place
)

const stranger = catfishtest.Stranger

func permOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestDefaultSocketPlace(t *testing.T) {
	me := uint32(os.Geteuid())
	private, open := place(t, 0o700), place(t, 0o755)
	sticky, bare := place(t, fs.ModeSticky|0o777), place(t, 0o777)
	missing := filepath.Join(open, "missing")
	for _, tc := range []struct {
		name    string
		mode    fs.FileMode
		parents []string
		want    string // empty: no place is acceptable
		dir     fs.FileMode
	}{
		{"the first that is there", 0o600, []string{"", missing, private, open}, private, 0o700},
		{"group cannot enter a private one", 0o660, []string{private, open}, open, 0o750},
		{"others cannot either", 0o666, []string{private, sticky}, sticky, 0o755},
		{"one where all may replace it", 0o600, []string{bare, sticky}, sticky, 0o755}, // the mode is unchanged
		{"none", 0o666, []string{private, bare, missing}, "", 0},
	} {
		got, err := socketPlaces{me, tc.parents}.socket(7, tc.mode)
		if tc.want == "" {
			if !errors.Is(err, errSocketDir) || !strings.Contains(err.Error(), bare) {
				t.Errorf("%s: %q, %v", tc.name, got, err)
			}
			continue
		}
		if err != nil || filepath.Dir(filepath.Dir(got)) != tc.want || filepath.Base(got) != "7.sock" {
			t.Errorf("%s: %q, %v, want one in %s", tc.name, got, err, tc.want)
		} else if p := permOf(t, filepath.Dir(got)); p != tc.dir {
			t.Errorf("%s: directory of mode %04o, want %04o", tc.name, p, tc.dir)
		}
	}
}

// TestHijackedSocketDir: another user has made the path before. The server must
// not take that user's directory, nor follow their link.
func TestHijackedSocketDir(t *testing.T) {
	parent := place(t, fs.ModeSticky|0o777)
	me := socketPlaces{uint32(os.Geteuid()), []string{parent}}
	at := func(name string) string { return filepath.Join(parent, name) }
	mkdir := func(path string, mode fs.FileMode) {
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(at("mine"), 0o700)
	mkdir(at("open"), 0o777)
	mkdir(at("group"), 0o770)
	if err := errors.Join(os.Symlink(at("mine"), at("link")), os.WriteFile(at("file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open", "group", "link", "file"} {
		if err := me.makeDir(at(name), 0o700); !errors.Is(err, errSocketDir) || !strings.Contains(err.Error(), at(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// For a server of another user this user's directory is foreign.
	other := socketPlaces{me.uid + 1, me.parents}
	if err := other.makeDir(at("mine"), 0o700); !errors.Is(err, errSocketDir) || !strings.Contains(err.Error(), "belongs to uid") {
		t.Errorf("another user's: %v", err)
	}
	if err := me.makeDir(at("mine"), 0o750); err != nil || permOf(t, at("mine")) != 0o750 {
		t.Errorf("my own: %v, mode %04o", err, permOf(t, at("mine")))
	}
	if err := me.makeDir(at("mine"), 0o700); err != nil || permOf(t, at("mine")) != 0o750 {
		t.Errorf("narrowed below another server's: %v, mode %04o", err, permOf(t, at("mine")))
	}
}

// TestSocketModeAdmits: only users that SocketMode admits can connect to the default socket.
func TestSocketModeAdmits(t *testing.T) {
	parent := place(t, 0o755)
	openUp(t, parent)
	for mode, want := range map[fs.FileMode]error{0o666: nil, 0o600: fs.ErrPermission} {
		path, err := socketPlaces{uint32(os.Geteuid()), []string{parent}}.socket(int(mode), mode)
		if err != nil {
			t.Fatal(err)
		}
		dev, err := shm.Open(shm.Options{SocketMode: mode})
		if err != nil {
			t.Fatal(err)
		}
		defer dev.Close()
		if _, err := dev.Listen(path); err != nil {
			t.Fatal(err)
		}
		asUser(t, stranger, func() {
			c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
			if !errors.Is(err, want) {
				t.Errorf("mode %04o: %v, want %v", mode, err, want)
			}
			if err == nil {
				c.Close()
			}
		})
	}
}
