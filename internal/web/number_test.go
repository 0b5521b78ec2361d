package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Numbers are decimal, and an error says which one is wrong and why.
func TestNumbers(t *testing.T) {
	w := newSite(t, Options{})
	for text, says := range map[string]string{
		"1_0": `"1_0" is no number`, "0x1p3": `"0x1p3" is no number`, "Inf": `"Inf" is no number`, "NaN": `"NaN" is no number`, "": `"" is no number`,
		"1e400": `"1e400" is out of the range of numbers, -1.8e308 to 1.8e308`, "e": `"e" is no number`, "1 2": `"1 2" is no number`,
	} {
		for parameter, query := range map[string]string{
			"bbox": "/items?bbox=0,0,1,", "point": "/nearest?point=1,", "max": "/nearest?point=1,1&max=",
		} {
			p := w.problem(w.get(countries+query+url.QueryEscape(text)), http.StatusBadRequest)
			if p.Parameter != parameter || !strings.Contains(p.Detail, says) || p.Limit == "" {
				t.Errorf("%s%s: %+v", query, text, p)
			}
		}
	}
	for _, text := range []string{"10", "+1e1", " 1.0e+1 ", "10.", ".5e1", "1e-300"} {
		for _, query := range []string{"/items?bbox=0,0,1,", "/nearest?point=1,", "/nearest?point=1,1&max="} {
			w.must(w.get(countries+query+url.QueryEscape(text)), http.StatusOK)
		}
	}
}

// A parameter without a value is said to be empty.
func TestEmptyParameters(t *testing.T) {
	w := newSite(t, Options{})
	for _, query := range []string{"/items?after=", "/items?limit=", "/items?numberMatched=", "/items?f=", "/counts?zoom=", "/items?filter-crs=", "/items?filter-lang="} {
		if p := w.problem(w.get(countries+query), http.StatusBadRequest); !strings.Contains(p.Detail, ": it is empty, want ") || p.Limit == "" {
			t.Errorf("%s: %+v", query, p)
		}
	}
	if p := w.problem(w.get(countries+"/items?after="), http.StatusBadRequest); p.Detail != `parameter "after": it is empty, want the id of a feature, 1 to 512 bytes` {
		t.Errorf("%+v", p)
	}
}
