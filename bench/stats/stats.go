// Package stats has the arithmetic of rows: medians, ratios, and sums of counters.
package stats

import (
	"reflect"
	"slices"
	"time"
)

// Median of values in any order, at least one. Of an even number it is the
// mean of the two in the middle.
func Median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Figure is a number of a row, by its JSON name.
type Figure struct {
	Name  string
	Value *float64
}

// Figures lists the numbers of a struct, whose fields are numbers with JSON names or
// structs of them.
func Figures(of any) []Figure { return figures(reflect.ValueOf(of).Elem()) }

func figures(v reflect.Value) (all []Figure) {
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Type.Kind() == reflect.Struct {
			all = append(all, figures(v.Field(i))...)
		} else {
			all = append(all, Figure{f.Tag.Get("json"), v.Field(i).Addr().Interface().(*float64)})
		}
	}
	return all
}

// Sum adds up two structs of the same type, whose fields are counters or structs of them.
func Sum[T any](a, b T) T {
	combine(reflect.ValueOf(&a).Elem(), reflect.ValueOf(b), 1)
	return a
}

// Difference is what came since an earlier state of counters.
func Difference[T any](later, earlier T) T {
	combine(reflect.ValueOf(&later).Elem(), reflect.ValueOf(earlier), -1)
	return later
}

func combine(a, b reflect.Value, sign int64) {
	for i := range a.NumField() {
		if x, y := a.Field(i), b.Field(i); x.Kind() == reflect.Struct {
			combine(x, y, sign)
		} else {
			x.SetUint(x.Uint() + uint64(sign)*y.Uint())
		}
	}
}

// Summarize sets each figure of a row to the median of the runs' figures in
// its place, of at least one run. For several runs it returns the smallest and
// the largest value of each, else nil.
func Summarize(row []Figure, runs [][]Figure) map[string][2]float64 {
	var spread map[string][2]float64
	if len(runs) > 1 {
		spread = map[string][2]float64{}
	}
	values := make([]float64, len(runs))
	for j, f := range row {
		for i := range runs {
			values[i] = *runs[i][j].Value
		}
		*f.Value = Median(values)
		if spread != nil {
			spread[f.Name] = [2]float64{slices.Min(values), slices.Max(values)}
		}
	}
	return spread
}

// Ratio is a/b, and 0 if b is 0, so that rows stay valid JSON.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Micros converts d to microseconds.
func Micros(d time.Duration) float64 { return float64(d) / 1e3 }
