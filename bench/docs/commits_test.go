package docs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// hash is a word that may name a commit, whole or by 7 to 12 digits. Decimal
// digits alone are a number, except after the word commit.
var hash = regexp.MustCompile(`\bcommit ([0-9a-f]{7,40})\b|\b(?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]*\b`)

// hashes are the commits that a text names.
func hashes(text string) (all []string) {
	for _, m := range hash.FindAllStringSubmatch(text, -1) {
		h := m[0]
		if m[1] != "" {
			h = m[1]
		}
		if n := len(h); n >= 7 && n <= 12 || n == 40 {
			all = append(all, h)
		}
	}
	return all
}

func TestHashes(t *testing.T) {
	text := "at 039b898, (commit 1234567), 2000000 objects of 1e-5, commit 70234e9; v2.5, deadbeef, abc12"
	if got := strings.Join(hashes(text), " "); got != "039b898 1234567 70234e9" {
		t.Errorf("got %s", got)
	}
}

// Each commit that a page names is part of this history, so that its
// measurements can be repeated.
func TestCommitsExist(t *testing.T) {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no .git here, as in an archive of the sources: its pages cannot be compared with a history")
	}
	switch shallow, err := git("rev-parse", "--is-shallow-repository"); {
	case err != nil:
		t.Fatalf("git: %v: %s", err, shallow)
	case shallow != "false":
		t.Fatal("this clone is shallow, so that commits which pages name may be missing: git fetch --unshallow")
	}
	pages := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hashes(string(text)) {
			named++
			if out, err := git("merge-base", "--is-ancestor", h, "HEAD"); err != nil {
				t.Errorf("%s names commit %s, which is not in the history: %s", page, h, out)
			}
		}
	}
	if named == 0 {
		t.Error("no page names a commit: the test finds none")
	}
}
