package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The bill of this test's own program lists its modules, each time the same.
func TestDescribe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range []string{"a", "b"} {
		out := filepath.Join(t.TempDir(), name)
		if err := run([]string{self, out, "1.2.3"}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("the same program, another document")
	}
	var doc struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component struct{ Version string } }
		Components             []struct {
			Name, Version, Purl string
			Hashes              []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal([]byte(texts[0]), &doc); err != nil || doc.BOMFormat != "CycloneDX" || doc.SpecVersion != "1.6" || doc.Metadata.Component.Version != "1.2.3" {
		t.Fatalf("%v: %.300s", err, texts[0])
	}
	got := map[string]string{}
	for _, c := range doc.Components {
		got[c.Name] = c.Version
		if c.Name != "std" && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 || !strings.HasPrefix(c.Purl, "pkg:golang/"+c.Name+"@")) {
			t.Errorf("%+v", c)
		}
	}
	want := map[string]string{"std": strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want[m.Path] = m.Version
	}
	if !reflect.DeepEqual(got, want) || len(want) < 2 || len(doc.Dependencies) != 1 || len(doc.Dependencies[0].DependsOn) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSbomMistakes(t *testing.T) {
	for _, args := range [][]string{nil, {"a"}, {"a", "b"}, {"/none", "x", "1"}, {"main.go", filepath.Join(t.TempDir(), "x"), "1"}} {
		if err := run(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	for _, sum := range []string{"", "h1:", "h1:!", "sha256:AAAA", "h1:AAAA"} {
		if hex, err := sha256Of(sum); err == nil {
			t.Errorf("%q is %s", sum, hex)
		}
	}
}
