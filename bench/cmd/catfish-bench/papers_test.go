package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

const repository = "../../.."

var (
	code     = regexp.MustCompile("`([^`]+)`")
	goTest   = regexp.MustCompile(`^go test (\./\S+)(?: -run (\S+))?(?: -bench (\S+))?$`)
	loneFlag = regexp.MustCompile(`^--([a-z-]+)`)
)

// TestPapersCommandsExist: each command that docs/papers/README.md names parses, each flag
// is one of a command, and each test and target of make is there.
func TestPapersCommandsExist(t *testing.T) {
	page := clitest.ReadFile(t, repository+"/docs/papers/README.md")
	makefile := clitest.ReadFile(t, repository+"/Makefile")
	commands := program.Root(&cli.App{})
	top, flags := map[string]bool{}, map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, s := range c.Commands() {
			top[s.Name()] = top[s.Name()] || c == commands
			for _, f := range strings.FieldsFunc(s.Flags().FlagUsages(), func(r rune) bool { return r == ' ' || r == '\n' }) {
				if m := loneFlag.FindStringSubmatch(f); m != nil {
					flags[m[1]] = true
				}
			}
			walk(s)
		}
	}
	walk(commands)
	seen := map[string]int{}
	for _, m := range code.FindAllStringSubmatch(page, -1) {
		span := strings.TrimPrefix(m[1], "sudo ")
		words := strings.Fields(span)
		switch {
		case words[0] == "catfish" || top[words[0]]:
			seen["commands"]++
			if words[0] == "catfish" {
				words = words[1:]
			}
			if err := commandParses(commands, words); err != nil {
				t.Errorf("`%s`: %v", m[1], err)
			}
		case loneFlag.MatchString(span):
			seen["flags"]++
			if name := loneFlag.FindStringSubmatch(span)[1]; !flags[name] {
				t.Errorf("`%s`: no command has it", m[1])
			}
		case words[0] == "make":
			seen["targets"]++
			if !strings.Contains(makefile, "\n"+words[1]+":") {
				t.Errorf("`%s`: no such target", m[1])
			}
		case words[0] == "go":
			seen["tests"]++
			testExists(t, strings.ReplaceAll(span, "-run '^$' ", ""))
		}
	}
	for _, kind := range []string{"commands", "flags", "targets", "tests"} {
		if seen[kind] == 0 {
			t.Errorf("the page names no %s", kind)
		}
	}
}

// commandParses says whether words are a command with its flags, the last one perhaps without a
// value.
func commandParses(root *cobra.Command, words []string) error {
	c, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if n := len(rest); n > 0 {
		if m := loneFlag.FindStringSubmatch(rest[n-1]); m != nil {
			if c.Flags().Lookup(m[1]) == nil {
				return fmt.Errorf("%s has no --%s", c.CommandPath(), m[1])
			}
			rest = rest[:n-1]
		}
	}
	if c.HasSubCommands() && len(rest) > 0 {
		return fmt.Errorf("%s has no command %q", c.CommandPath(), rest)
	}
	return c.ParseFlags(rest)
}

// testExists looks for what a go test runs.
func testExists(t *testing.T, command string) {
	t.Helper()
	m := goTest.FindStringSubmatch(command)
	if m == nil {
		t.Errorf("`%s`: not understood", command)
		return
	}
	want := "func Test[A-Za-z0-9_]*" + m[2]
	if m[3] != "" {
		want = "func Benchmark[A-Za-z0-9_]*" + m[3]
	}
	files, err := filepath.Glob(filepath.Join(repository, m[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && regexp.MustCompile(want).Match(text) {
			return
		}
	}
	t.Errorf("`%s`: no file of %s has %s", command, m[1], want)
}
