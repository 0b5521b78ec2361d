package paper

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// QuerySet is Settings.Queries without a file: queries of 50 to 150 results, as the
// paper's.
const QuerySet = "50-150"

// WriteQueries makes the query set of figure 14 for the data that the settings
// name, as a CSV file, unless it exists. The file's name contains its inputs,
// but not a data file's content. It returns the path.
func WriteQueries(dir string, s Settings) (string, error) {
	set, err := datasets.ParseQuerySet(QuerySet)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("queries-%s-%s-%d-%d.csv",
		filepath.Base(s.Data), set, s.Objects, s.Seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	src, err := bench.OpenDataset(s.Data, s.Objects, s.Seed)
	if err != nil {
		return "", err
	}
	g := datasets.Gather{BytesEach: datasets.QueryBytes}
	if err := g.Read(src); err != nil {
		return "", err
	}
	// Written whole or not at all: a later run reads an existing file.
	tmp := path + ".new"
	f, err := os.Create(tmp)
	if err != nil {
		return "", fmt.Errorf("paper: queries: %w", err)
	}
	defer func() { _ = os.Remove(tmp) }() // Fails after success, which renamed it.
	w := bufio.NewWriter(f)
	n := 0
	fmt.Fprintln(w, "id,minx,miny,maxx,maxy")
	for q := range set.Queries(g.Items()) {
		fmt.Fprint(w, csvLine(n, q)) // Flush returns any error.
		n++
	}
	err = w.Flush()
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%d objects of %s give none of the set %s", len(g.Items()), s.Data, set)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return "", fmt.Errorf("paper: queries: %w", err)
	}
	return path, nil
}

func csvLine(id int, r rstar.Rect) string {
	b := strconv.AppendInt(nil, int64(id), 10)
	for _, v := range [...]float64{r.MinX, r.MinY, r.MaxX, r.MaxY} {
		b = append(b, ',')
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return string(append(b, '\n'))
}
