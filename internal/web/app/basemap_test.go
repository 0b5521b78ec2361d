package app

import (
	"errors"
	"strings"
	"testing"
)

// A base map adds its server to those that the page may contact, and nothing else.
func TestBasemap(t *testing.T) {
	b := Basemap{URL: "https://tile.example.org:8443/a/{z}/{x}/{y}.png?k=1&m=2", Attribution: `© "Us" <b>`}
	i, err := NewIndex(b)
	if err != nil {
		t.Fatal(err)
	}
	if i.Policy == Policy || strings.Replace(i.Policy, " https://tile.example.org:8443;", ";", 1) != Policy {
		t.Errorf("the policy is %s", i.Policy)
	}
	plain := Open("index.html")
	if i.ETag == plain.ETag || i.Immutable || i.Type != plain.Type || i.Referrer != "strict-origin-when-cross-origin" {
		t.Errorf("%+v", i)
	}
	head, _, _ := strings.Cut(string(i.Plain), "<body")
	for _, want := range []string{
		`<meta name="basemap" content="https://tile.example.org:8443/a/{z}/{x}/{y}.png?k=1&amp;m=2">`,
		`<meta name="basemap-attribution" content="© &#34;Us&#34; &lt;b&gt;">`, "<title>",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("the page is without %s: %s", want, head)
		}
	}
	if i, err := NewIndex(Basemap{}); err != nil || i.File != plain || i.Policy != Policy || i.Referrer != "same-origin" {
		t.Errorf("without a base map: %+v, %v", i, err)
	}
}

// Addresses that are not of images are refused, by name, and so are those that would
// add more than a server to the policy.
func TestBadBasemap(t *testing.T) {
	for _, bad := range []string{
		"x", "https://example.org", "https://example.org/{z}/{x}", "https://example.org/{z}/{x}/{y}/{y}", "/{z}/{x}/{y}", "ftp://example.org/{z}/{x}/{y}",
		"https://{s}.example.org/{z}/{x}/{y}", "https://{z}.example.org/{x}/{y}", "https://u:p@example.org/{z}/{x}/{y}", "https:///{z}/{x}/{y}",
		"https://a;script-src/{z}/{x}/{y}", "https://a *;x/{z}/{x}/{y}", "https://*/{z}/{x}/{y}", "https://a'b/{z}/{x}/{y}", "javascript:{z}{x}{y}",
		"https://example.org/{z}/{x}/{y}{ratio}.png", "https://a,b/{z}/{x}/{y}", "https://é.org/{z}/{x}/{y}",
	} {
		i, err := NewIndex(Basemap{URL: bad})
		if !errors.Is(err, ErrBasemap) || !strings.Contains(err.Error(), bad[:1]) {
			t.Errorf("%q: %v, %v", bad, i.Policy, err)
		}
	}
}
