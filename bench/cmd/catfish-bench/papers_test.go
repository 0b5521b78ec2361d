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
	block    = regexp.MustCompile(`(?m)^ {4,}(?:sudo )?(?:\./bin/)?((?:catfish|make|go) (?:.*\\\n)*.*)$`)
	goTest   = regexp.MustCompile(`^go test (\./\S+)(?: -run (\S+))?(?: -bench (\S+))?(?: -v)?$`)
	loneFlag = regexp.MustCompile(`^--([a-z-]+)`)
)

// paperPages are the pages whose commands a reader of a paper types.
var paperPages = []string{
	"papers/README.md", "papers/rfp.md", "papers/rfp-simulated.md", "papers/hydradb.md", "papers/rhkv.md",
	"papers/rdma-mongo.md", "research/paper.md", "research/paper-simulated.md", "research/btree.md",
}

// Commands of an earlier commit, which the page names beside them.
var earlier = map[string]string{"bench kv-local": "commit bdd6e2fc"}

// codeOf is what a page has in code spans, and the commands of its blocks, each in one line and
// without its comment.
func codeOf(page string) (all []string) {
	blocks := block.FindAllStringSubmatch(page, -1)
	for _, m := range append(code.FindAllStringSubmatch(page, -1), blocks...) {
		span, _, _ := strings.Cut(strings.ReplaceAll(m[1], "\\\n", " "), " #")
		all = append(all, strings.Join(strings.Fields(strings.TrimPrefix(span, "sudo ")), " "))
	}
	return all
}

// TestPapersCommandsExist: each command that the papers' pages name parses, each flag
// is one of a command, and each test and target of make is there.
func TestPapersCommandsExist(t *testing.T) {
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
	for _, name := range paperPages {
		page, commandsThere := clitest.ReadFile(t, repository+"/docs/"+name), 0
		for _, span := range codeOf(page) {
			words := strings.Fields(span)
			switch {
			case len(words) == 0:
			case words[0] == "catfish" || top[words[0]]:
				commandsThere++
				if words[0] == "catfish" {
					words = words[1:]
				}
				if err := commandParses(commands, words); err != nil && !isEarlier(page, words) {
					t.Errorf("%s: `%s`: %v", name, span, err)
				}
			case loneFlag.MatchString(span):
				seen["flags"]++
				if flag := loneFlag.FindStringSubmatch(span)[1]; !flags[flag] {
					t.Errorf("%s: `%s`: no command has it", name, span)
				}
			case words[0] == "make" && len(words) > 1:
				seen["targets"]++
				if !strings.Contains(makefile, "\n"+words[1]+":") {
					t.Errorf("%s: `%s`: no such target", name, span)
				}
			case words[0] == "go" && len(words) > 2 && words[1] == "run": // of bench/peers
				if _, err := os.Stat(filepath.Join(repository, "bench/peers", words[2])); err != nil {
					t.Errorf("%s: `%s`: %v", name, span, err)
				}
			case words[0] == "go":
				seen["tests"]++
				testExists(t, strings.ReplaceAll(span, "-run '^$' ", ""))
			}
		}
		if commandsThere == 0 {
			t.Errorf("%s names no command", name)
		}
		seen["commands"] += commandsThere
	}
	for _, kind := range []string{"commands", "flags", "targets", "tests"} {
		if seen[kind] == 0 {
			t.Errorf("the pages name no %s", kind)
		}
	}
}

// isEarlier says whether words are a command of an earlier commit.
func isEarlier(page string, words []string) bool {
	commit, ok := earlier[strings.Join(words[:min(2, len(words))], " ")]
	return ok && strings.Contains(page, commit)
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
