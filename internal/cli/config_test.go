package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// A server is configured by its file, except for typed flags.
func TestServeConfig(t *testing.T) {
	places := clitest.File(t, "places.geojson", townJSON)
	config := clitest.File(t, "catfish.yaml", `
# all of it
listen: 192.0.2.1:1   # typed otherwise
collection: [c]
features: [stops, "a.b"]
load:
  - `+places+`
socket-mode: 0660
workers: 1
`)
	if says := clitest.Succeed(t, "config", "check", config); says != config+": 6 settings, as serve wants them\n" {
		t.Error(says)
	}
	p, addr, ready := clitest.Serve(t, "--config", config)
	defer p.Interrupt(t)
	if !strings.Contains(ready, "objects=1 collections=a.b,c,default,stops") {
		t.Error(ready)
	}
	if list := clitest.Succeed(t, "collections", "list", "-s", addr); !strings.Contains(list, "c\t1 features") {
		t.Error(list)
	}
	none := clitest.File(t, "none.yaml", "# nothing\n")
	if says := clitest.Succeed(t, "config", "check", none); !strings.Contains(says, "0 settings") {
		t.Error(says)
	}
}

// Each mistake is reported with its line.
func TestConfigMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"listne: x\n":                        `:1: there is no setting "listne"`,
		"config: x\n":                        `:1: there is no setting "config"`,
		"\nworkers: many\n":                  `:2: --workers is "many", want a whole number`,
		"workers: [1]\n":                     ":1: workers is a list",
		"workers:\n":                         ":1: workers wants a value",
		"features: {a: b}\n":                 ":1: features wants a value, or a list",
		"features: [[a]]\n":                  ":1: features wants a value, or a list",
		"workers: 1\nworkers: 2\n":           ":2: workers is set in line 1 already",
		"- listen\n":                         ":1: want lines such as",
		"listen: [\n":                        "line 1",
		"keep: true\n":                       "--keep does nothing without --data-dir",
		"cpus: x\n":                          "cpus: ",
		"keys: /none/keys\n":                 "/none/keys",
		"rect: x\n":                          `there is no setting "rect"`,
		"polling: maybe\nnode-bytes: some\n": `:2: --node-bytes is "some"`,
		strings.Repeat("#", 1<<20+1):         "more than 1048576 bytes",
	} {
		config := clitest.File(t, "bad.yaml", text)
		code, _, errors := clitest.Program(t, "config", "check", config)
		if code == ExitOK || !strings.Contains(errors, says) {
			t.Errorf("%.40q: exit %d, %s, want %s", text, code, errors, says)
		}
	}
	clitest.Fail(t, ExitFailure, []string{"serve", "--config", filepath.Join(t.TempDir(), "none.yaml")}, "none.yaml")
	clitest.Fail(t, ExitUsage, []string{"serve", "--config", clitest.File(t, "bad.yaml", "listne: x\n")}, "listne")
}

// The output of docs is a valid file, and has every flag with its default.
func TestConfigDocs(t *testing.T) {
	text := clitest.Succeed(t, "config", "docs")
	if fail := clitest.Succeed(t, "config", "check", clitest.File(t, "docs.yaml", text)); !strings.Contains(fail, "0 settings") {
		t.Error(fail)
	}
	all := regexp.MustCompile(`(?m)^#([a-z])`).ReplaceAllString(text, "$1")
	var values map[string]any
	if err := yaml.Unmarshal([]byte(all), &values); err != nil {
		t.Fatal(err)
	}
	c, _ := serveCommand(&App{})
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := values[f.Name]; !ok && f.Name != "config" && f.Name != "help" {
			t.Errorf("%s is not there", f.Name)
		}
		delete(values, f.Name)
	})
	if len(values) > 0 {
		t.Errorf("there are no flags %v", values)
	}
	// The flags accept the defaults as written.
	c, _ = serveCommand(&App{})
	if _, err := readConfig(c.Flags(), clitest.File(t, "all.yaml", all)); err != nil {
		t.Error(err)
	}
}
