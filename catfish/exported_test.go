package catfish

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestExported: other modules can use what the module promises: no signature, field or
// constant of such a package names a type of an internal one. An alias may: it is the
// type's public name. So may names "for tests of this module" and "for
// packages of this module", which internal types keep from others.
func TestExported(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			switch d.Name() {
			case "fastmsg", "offload", "heartbeat":
				return filepath.SkipDir // they join packages of the engine, and take their types
			// The page's folder changes with each build of it, and with it what go
			// remembers of these tests.
			case "internal", "testdata", "cmd", "bin", ".git", "dist", "node_modules", "shots":
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != ".." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		return checkExported(t, path)
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func checkExported(t *testing.T, path string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	internal := map[string]string{} // name in this file -> path
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		name := p[strings.LastIndexByte(p, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if strings.Contains("/"+p+"/", "/internal/") {
			internal[name] = p
		}
	}
	look := func(what string, in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field: // unexported ones are not checked
				if len(n.Names) == 1 && !n.Names[0].IsExported() && what == "field" {
					return false
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] != "" {
					t.Errorf("%s: %s exports %s of %s", set.Position(n.Pos()), what, n.Sel.Name, internal[x.Name])
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && !strings.Contains(strings.Join(strings.Fields(d.Doc.Text()), " "), "of this module") && (d.Recv == nil || exportedReceiver(d.Recv)) {
				look("func "+d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && !s.Assign.IsValid() {
						look("field", s.Type)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && s.Type != nil {
						look("value", s.Type)
					}
				}
			}
		}
	}
	return nil
}

func exportedReceiver(l *ast.FieldList) bool {
	exported := false
	ast.Inspect(l, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = exported || id.IsExported()
		}
		return true
	})
	return exported
}
