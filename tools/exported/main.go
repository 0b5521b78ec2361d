// Command exported counts the exported names of each package of this
// repository, so that a change that makes the surface grow is seen:
//
//	go run ./exported [-C DIR]
//
// It counts constants, variables, types and functions, and methods separately;
// not those of commands, of internal packages, of tests and of generated files.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	dir := flag.String("C", "..", "root of the `module`")
	flag.Parse()
	if err := run(os.Stdout, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "exported:", err)
		os.Exit(1)
	}
}

type count struct{ names, methods int }

func run(w io.Writer, dir string) error {
	counts := map[string]count{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != dir && (strings.HasPrefix(name, ".") || name == "testdata" || name == "internal" ||
				name == "cmd" || hasModule(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		c := counts[pkg]
		c.add(f)
		counts[pkg] = c
		return nil
	})
	if err != nil {
		return err
	}
	var pkgs []string
	all := count{}
	for p, c := range counts {
		pkgs = append(pkgs, p)
		all.names += c.names
		all.methods += c.methods
	}
	slices.Sort(pkgs)
	fmt.Fprintf(w, "%-24s %6s %8s\n", "package", "names", "methods")
	for _, p := range pkgs {
		fmt.Fprintf(w, "%-24s %6d %8d\n", p, counts[p].names, counts[p].methods)
	}
	fmt.Fprintf(w, "%-24s %6d %8d\n", "all", all.names, all.methods)
	return nil
}

// hasModule reports whether a directory has its own module.
func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func (c *count) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			switch {
			case !d.Name.IsExported():
			case d.Recv == nil:
				c.names++
			case ast.IsExported(receiver(d.Recv.List[0].Type)):
				c.methods++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					c.one(s.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						c.one(n)
					}
				}
			}
		}
	}
}

func (c *count) one(n *ast.Ident) {
	if n.IsExported() {
		c.names++
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
