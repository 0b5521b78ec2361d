package web

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words splits a shell line into words, with its quotes.
func words(line string) (all []string) {
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		if m == "#" {
			break
		}
		if quote := m[:1]; quote == "'" || quote == `"` {
			m = strings.Trim(m, quote)
		}
		all = append(all, m)
	}
	return all
}

// The examples of docs/http.md are answered with the status that stands beside them.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newSite(t, Options{})
	examples := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		examples++
		method, body, target, query := http.MethodGet, "", "", ""
		var headers []string
		args := words(line)
		for i := 1; i < len(args); i++ {
			switch a := args[i]; a {
			case "-s", "-G":
			case "--compressed":
				headers = append(headers, "Accept-Encoding: deflate, gzip, br, zstd")
			case "-X", "-H", "-d", "--data-urlencode":
				i++
				switch v := args[i]; a {
				case "-X":
					method = v
				case "-H":
					headers = append(headers, v)
				case "-d":
					if slices.Contains(args, "-G") {
						query += "&" + v
						continue
					}
					body = v
				default:
					name, value, _ := strings.Cut(v, "=")
					query = "?" + name + "=" + url.QueryEscape(value)
				}
			default:
				target = strings.TrimPrefix(a, "localhost:8080")
			}
		}
		_, says, _ := strings.Cut(line, "# ")
		want, err := strconv.Atoi(says[:3])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if a := w.do(method, target+query, body, headers...); a.StatusCode != want {
			t.Errorf("%s\t%s: %.300s", line, a.Status, a.body)
		}
	}
	if examples < 15 {
		t.Errorf("%d examples", examples)
	}
}
