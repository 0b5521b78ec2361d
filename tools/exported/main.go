// Command exported compares the exported names that other programs can import with those
// that docs/compatibility.md promises, which promised.txt lists:
//
//	go run ./exported [-C DIR] [-write]
//
// It fails if a name is in one of them only: a new one is promised by -write, which lists
// what exists, or belongs below internal; one that disappears breaks programs. It looks
// at constants, variables, types, functions and methods; not at those of commands, of
// other modules, of tests and of generated files. At the end it prints how many there are.
package main

import (
	_ "embed"
	"errors"
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

//go:embed promised.txt
var promised string

func main() {
	dir := flag.String("C", "..", "root of the `module`")
	write := flag.Bool("write", false, "list the names that exist in exported/promised.txt")
	flag.Parse()
	if err := run(os.Stdout, *dir, *write); err != nil {
		fmt.Fprintln(os.Stderr, "exported:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, dir string, write bool) error {
	names, err := exported(dir)
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(filepath.Join(dir, "tools/exported/promised.txt"), []byte(strings.Join(names, "\n")+"\n"), 0o644)
	}
	if err := compare(names, strings.Fields(promised)); err != nil {
		return err
	}
	count(w, names)
	return nil
}

// compare returns an error for each name that only one of two sorted lists has.
func compare(exist, promise []string) error {
	var errs []error
	for _, n := range exist {
		if _, ok := slices.BinarySearch(promise, n); !ok {
			errs = append(errs, fmt.Errorf("%s is not promised: move it below internal, or promise it with -write", n))
		}
	}
	for _, n := range promise {
		if _, ok := slices.BinarySearch(exist, n); !ok {
			errs = append(errs, fmt.Errorf("%s is promised, but does not exist", n))
		}
	}
	return errors.Join(errs...)
}

// count prints the number of names of each package.
func count(w io.Writer, names []string) {
	for len(names) > 0 {
		pkg, _, _ := strings.Cut(names[0], ".")
		n := slices.IndexFunc(names, func(s string) bool { return !strings.HasPrefix(s, pkg+".") })
		if n < 0 {
			n = len(names)
		}
		fmt.Fprintf(w, "%-24s %6d\n", pkg, n)
		names = names[n:]
	}
}

// exported returns the names as package.Name and package.Type.Method, sorted.
func exported(dir string) ([]string, error) {
	var names []string
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
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		for _, n := range namesOf(f) {
			names = append(names, filepath.ToSlash(pkg)+"."+n)
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err // a name may have a file for each system
}

// hasModule reports whether a directory has its own module.
func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func namesOf(f *ast.File) (names []string) {
	add := func(n *ast.Ident) {
		if n.IsExported() {
			names = append(names, n.Name)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			} else if of := receiver(d.Recv.List[0].Type); ast.IsExported(of) && d.Name.IsExported() {
				names = append(names, of+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						add(n)
					}
				}
			}
		}
	}
	return names
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
