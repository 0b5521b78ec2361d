package cli

import (
	"math"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/rstar"
)

// parseNumbers parses want finite numbers separated by commas.
func parseNumbers(flag, text string, want int, form string) ([]float64, error) {
	parts := strings.Split(text, ",")
	if text == "" {
		return nil, BadUsage("--%s is missing, want %s", flag, form)
	}
	if len(parts) != want {
		return nil, BadUsage("--%s %q has %d coordinates, want %d: %s",
			flag, text, len(parts), want, form)
	}
	values := make([]float64, want)
	for i, p := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, BadUsage("--%s %q: %q is no finite number, want %s",
				flag, text, p, form)
		}
		values[i] = v
	}
	return values, nil
}

// parseRect parses minx,miny,maxx,maxy. Errors are bad usage.
func parseRect(flag, text string) (rstar.Rect, error) {
	v, err := parseNumbers(flag, text, 4, "minx,miny,maxx,maxy")
	if err != nil {
		return rstar.Rect{}, err
	}
	r := rstar.Rect{MinX: v[0], MinY: v[1], MaxX: v[2], MaxY: v[3]}
	if err := r.Validate(); err != nil {
		return rstar.Rect{}, BadUsage("--%s %q: %w", flag, text, err)
	}
	return r, nil
}

// itemJSON is one object in an answer.
type itemJSON struct {
	ID   uint64     `json:"id"`
	Rect [4]float64 `json:"rect"`
	Dist *float64   `json:"dist,omitempty"` // of nearest only
}

func rectJSON(r rstar.Rect) [4]float64 {
	return [4]float64{r.MinX, r.MinY, r.MaxX, r.MaxY}
}

// answerJSON is the output of search and nearest.
type answerJSON struct {
	Count     int        `json:"count"`
	Items     []itemJSON `json:"items"`
	Policy    string     `json:"policy"`
	Transport string     `json:"transport"`
}
