package catfish

import (
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// A program that uses places imports this package and orb, and of Catfish otherwise only
// readers of files: what docs/compatibility.md promises.
func TestPlacesNeedNoOtherPackage(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "example_features_test.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/catfish-index/catfish/"
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if of, ok := strings.CutPrefix(path, ours); ok && of != "catfish" && of != "datasets" {
			t.Errorf("the examples import %s", path)
		}
	}
	for _, x := range []any{model.Feature{}, model.FeatureQuery{}, model.NearestQuery{}, model.FeatureFields{}, model.FeaturesOptions{}, server.LocalOptions{}} {
		if of := reflect.TypeOf(x); !strings.HasPrefix(of.PkgPath(), ours+"catfish") {
			t.Errorf("%v is of %s, where users do not look for its fields", of, of.PkgPath())
		}
	}
}
