package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goFile = regexp.MustCompile(`[\w*/]+\.go\b`)

// A doc.go names files of its folder, of one below, or by their path from the root. A
// table of all files, under the heading "# Files", leaves none out.
func TestFilesNamedInPackageCommentsExist(t *testing.T) {
	tables := 0
	eachText(t, func(path, text string) {
		if filepath.Base(path) != "doc.go" {
			return
		}
		dir := filepath.Join(root, filepath.Dir(path))
		named := map[string]bool{filepath.Join(dir, "doc.go"): true}
		for _, name := range goFile.FindAllString(text, -1) {
			found := 0
			for _, at := range []string{dir, filepath.Join(dir, "*"), root} {
				files, err := filepath.Glob(filepath.Join(at, name))
				if err != nil {
					t.Fatal(err)
				}
				found += len(files)
				for _, f := range files {
					named[f] = true
				}
			}
			if found == 0 {
				t.Errorf("%s names %s, which does not exist there", path, name)
			}
		}
		if !strings.Contains(text, "\n// # Files\n") {
			return
		}
		tables++
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if name := f.Name(); filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") && !named[filepath.Join(dir, name)] {
				t.Errorf("%s has a table of files without %s", path, name)
			}
		}
	})
	if tables == 0 {
		t.Error("no doc.go has a table of files")
	}
}
