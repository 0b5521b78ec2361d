package docs

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// notOurs are folders without text of this project.
var notOurs = []string{".git", "bin", "dist", "node_modules", "testdata", "shots"}

// eachText calls do with every text file of the repository, by its path from the root.
func eachText(t *testing.T, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(notOurs, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(text, 0) {
			do(filepath.ToSlash(strings.TrimPrefix(path, root+"/")), string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// pages are the texts of all pages, by their paths from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	eachText(t, func(path, text string) {
		if filepath.Ext(path) == ".md" {
			all[path] = text
		}
	})
	if len(all) < 50 {
		t.Fatalf("found %d pages only", len(all))
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```|^~~~.*?^~~~")
	named   = regexp.MustCompile(`\bdocs/[\w/-]+\.(?:md|svg|png)\b`)
)

// anchors are the names by which a page's headings are linked to.
func anchors(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllString(m[1], "]")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, title)
		names = append(names, name)
	}
	return names
}

// linksOf are the files of this repository that a page links to, by their paths
// from the root, with the anchor after "#".
func linksOf(page, text string) (all []string) {
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		target, anchor, _ := strings.Cut(m[1], "#")
		switch {
		case strings.Contains(target, ":"):
			continue
		case target == "":
			target = page
		default:
			target = filepath.Join(filepath.Dir(page), target)
		}
		all = append(all, target+"#"+anchor)
	}
	return all
}

// Each link of a page leads to a file of this repository, and to a heading in it.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, l := range linksOf(page, text) {
			target, anchor, _ := strings.Cut(l, "#")
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
				continue
			}
			if to, ok := all[target]; ok && anchor != "" && !slices.Contains(anchors(to), anchor) {
				t.Errorf("%s links to %s, which has no heading %q", page, target, anchor)
			}
		}
	}
}

// Each page that a comment, a message or a script names exists.
func TestNamedPagesExist(t *testing.T) {
	eachText(t, func(path, text string) {
		for _, name := range named.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil && path != "CHANGELOG.md" {
				t.Errorf("%s names %s: %v", path, name, err)
			}
		}
	})
}

// docs/README.md, or the list of decisions, leads to every page below docs.
func TestEveryPageIsListed(t *testing.T) {
	all := pages(t)
	listed := map[string]bool{"docs/README.md": true}
	for _, index := range []string{"docs/README.md", "docs/decisions/README.md"} {
		for _, l := range linksOf(index, all[index]) {
			target, _, _ := strings.Cut(l, "#")
			listed[target] = true
		}
	}
	for page := range all {
		if strings.HasPrefix(page, "docs/") && !listed[page] {
			t.Errorf("neither docs/README.md nor docs/decisions/README.md links to %s", page)
		}
	}
}
