package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/docs"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// codeBlocks returns the commands in a page's code blocks, one per line.
func codeBlocks(page string) []string {
	var commands []string
	parts := strings.Split(page, "```")
	for i := 1; i < len(parts); i += 2 {
		code := strings.TrimPrefix(parts[i], "sh\n")
		for line := range strings.SplitSeq(strings.ReplaceAll(code, " \\\n", " "), "\n") {
			if line = strings.TrimSpace(line); line != "" {
				commands = append(commands, line)
			}
		}
	}
	return commands
}

// This program accepts every command of the page, full and quick.
func parses(t *testing.T, command string) {
	t.Helper()
	words := docs.Words(command)
	if words[0] == "make" {
		makefile := clitest.ReadFile(t, "../../../Makefile")
		if !strings.Contains(makefile, "\n"+words[1]+": ") {
			t.Errorf("no target %s", words[1])
		}
		return
	}
	root := program.Root(&cli.App{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	c, rest, err := root.Find(words[1:])
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil || words[0] != "catfish" || c.HasSubCommands() {
		t.Errorf("%s: %v", command, err)
	}
}

func TestBenchDocs(t *testing.T) {
	for _, b := range docs.Benchmarks {
		for _, s := range b.Steps(docs.Full) {
			parses(t, s.Command)
		}
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "docs", "page.md")
	args := []string{"bench", "docs", "--quick", "--date", "2026-11-22", "--store", filepath.Join(dir, "store"), "--out", out}
	code, printed, said := clitest.Program(t, args...)
	if code != cli.ExitOK || !strings.Contains(said, "tree is left out") || !strings.Contains(said, "1/") {
		t.Fatalf("exit %d, printed %q, said %s", code, printed, said)
	}
	page := clitest.ReadFile(t, out)
	for _, b := range docs.Benchmarks {
		_, section, ok := strings.Cut(page, "\n## "+b.Title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !ok || len(codeBlocks(section)) == 0 || strings.Contains(section, "Not finished") {
			t.Errorf("section %q: %s", b.Title, section)
		}
		if b.Name != "tree" && !strings.Contains(section, "|---|") {
			t.Errorf("section %q has no table", b.Title)
		}
	}
	for _, c := range codeBlocks(page) {
		parses(t, c)
	}
	svg := clitest.ReadFile(t, filepath.Join(dir, "docs", "plots", "benchmarks-small.svg"))
	if !strings.Contains(svg, "offload-cached") {
		t.Error("the figure lacks a scheme")
	}
	// Nothing is measured twice.
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	if code, _, said := clitest.Program(t, args...); code != cli.ExitOK || strings.Contains(said, "2/") {
		t.Errorf("again: exit %d, said %s", code, said)
	}
	if again := clitest.ReadFile(t, out); again != page {
		t.Error("the page of the same results differs")
	}
}

func TestBenchDocsUsage(t *testing.T) {
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "docs", "--out", ""}, "--out or --store is empty")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "docs", "page.md"}, "page.md")
}
