package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Guides avoid the phrases that comments avoid (tools/words): at most 2 in 1,000 words,
// as some of them are right where they stand.
func TestGuidesUsePlainWords(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(root, "tools/words/phrases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var phrases []*regexp.Regexp
	for line := range strings.Lines(string(list)) {
		if pattern, _, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") {
			phrases = append(phrases, regexp.MustCompile(pattern))
		}
	}
	if len(phrases) < 10 {
		t.Fatalf("found %d phrases only", len(phrases))
	}
	words, hits := 0, []string{}
	for page, text := range pages(t) {
		if dir := filepath.Dir(page); dir != "docs" && page != "README.md" {
			continue
		}
		text = strings.ToLower(fenced.ReplaceAllString(text, ""))
		words += len(strings.Fields(text))
		for _, p := range phrases {
			for _, m := range p.FindAllString(text, -1) {
				hits = append(hits, page+": "+m)
			}
		}
	}
	if 1000*len(hits) > 2*words {
		t.Errorf("%d phrases of tools/words in %d words:\n%s", len(hits), words, strings.Join(hits, "\n"))
	}
}
