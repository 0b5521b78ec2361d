package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/places"
)

// convertible adds a command line that loads the file to the error of a file that is
// not read, but could be converted.
func convertible(err error, path, collection string) error {
	var is *places.ForeignError
	if !errors.As(err, &is) {
		return err
	}
	source, project := shellWord(cmp.Or(is.Source, path)), ""
	if path == places.Stdin {
		source = "FILE"
	}
	if is.Project {
		project = "-t_srs EPSG:4326 "
	}
	return fmt.Errorf("%w\nGDAL converts it: ogr2ogr %s-f GeoJSONSeq /vsistdout/ %s | catfish load - -c %s", err, project, source, shellWord(collection))
}
