// Command sbom writes the modules from which a Go program was built, as a
// software bill of materials by CycloneDX 1.6 in JSON.
//
//	go run ./sbom PROGRAM DOCUMENT VERSION
//
// It reads the linker's list in the program, so it lists the modules linked in, at their
// versions, and not those that go.mod allows. The same program gives the same document.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	if len(args) != 3 {
		return errors.New("want PROGRAM DOCUMENT VERSION")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	// The linker knows the versions of the linked modules, but the program's
	// own only in a build by its module's version.
	info.Main.Version = args[2]
	bom, err := describe(filepath.Base(args[0]), info)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	f, err := os.Create(args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return encode(f, bom)
}

func encode(w io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

// describe returns the bill of a program. It has no time and no serial number:
// they would differ between builds of the same source.
func describe(name string, info *debug.BuildInfo) (*cyclonedx.BOM, error) {
	program := cyclonedx.Component{
		BOMRef: info.Main.Path, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: info.Main.Version, PackageURL: purl(&info.Main),
		Properties: properties(info),
	}
	std := debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}
	all := []cyclonedx.Component{{BOMRef: "std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: std.Version, PackageURL: purl(&std)}}
	uses := []string{"std"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cyclonedx.Component{
			BOMRef: purl(m), Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl(m),
		}
		if m.Sum != "" {
			sum, err := sha256Of(m.Sum)
			if err != nil {
				return nil, fmt.Errorf("module %s: %w", m.Path, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}}
		}
		all, uses = append(all, c), append(uses, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &all
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &uses}}
	return bom, nil
}

// properties returns the platform for which the program was built, and the build settings.
func properties(info *debug.BuildInfo) *[]cyclonedx.Property {
	var all []cyclonedx.Property
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "-tags", "-trimpath":
			all = append(all, cyclonedx.Property{Name: "go:" + strings.TrimPrefix(s.Key, "-"), Value: s.Value})
		}
	}
	return &all
}

// purl returns a module's package URL.
func purl(m *debug.Module) string {
	u := "pkg:golang/" + m.Path
	if m.Version != "" && m.Version != "(devel)" {
		u += "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	}
	return u
}

// sha256Of returns a sum of go.sum, h1:BASE64, in hexadecimal.
func sha256Of(sum string) (string, error) {
	text, ok := strings.CutPrefix(sum, "h1:")
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(b) != 32 {
		return "", fmt.Errorf("sum %q, want h1: and 32 bytes in base64", sum)
	}
	return hex.EncodeToString(b), nil
}
