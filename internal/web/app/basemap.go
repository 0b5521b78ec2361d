package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
)

// Basemap is a map of another server that is drawn below the places, as images: tiles
// of 256 pixels in Web Mercator. The zero value is none.
type Basemap struct {
	// URL is the images' address, such as https://tile.example.org/{z}/{x}/{y}.png.
	URL string
	// Attribution says whose map it is, in plain text.
	Attribution string
}

// ErrBasemap is wrapped when the page cannot use an address.
var ErrBasemap = errors.New("bad address of a base map")

// origin is the images' server, as the policy names it; "" for none.
func (b Basemap) origin() (string, error) {
	if b.URL == "" {
		return "", nil
	}
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: %.200q %s, want one such as https://tile.example.org/{z}/{x}/{y}.png", ErrBasemap, b.URL, why)
	}
	rest := b.URL
	for _, part := range []string{"{z}", "{x}", "{y}"} {
		if strings.Count(rest, part) != 1 {
			return bad("does not have " + part + " once")
		}
		rest = strings.Replace(rest, part, "0", 1)
	}
	if strings.ContainsAny(rest, "{}") {
		return bad("has another place in braces than {z}, {x} and {y}")
	}
	u, err := url.Parse(rest)
	switch {
	case err != nil:
		return bad("is no address")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		return bad("is not of http or https and a host alone")
	}
	// The policy consists of words between spaces, commas and semicolons.
	for _, c := range u.Host {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]", c) {
			return bad(fmt.Sprintf("has the character %q in its host", c))
		}
	}
	origin := u.Scheme + "://" + u.Host
	if !strings.HasPrefix(b.URL, origin+"/") {
		return bad("has a part of its host in braces")
	}
	return origin, nil
}

// Index is the page's index.html, its policy, and the Referrer-Policy: what browsers
// send to other servers about the page.
type Index struct {
	*File
	Policy, Referrer string
}

// NewIndex returns the page with a base map. The error wraps ErrBasemap.
func NewIndex(b Basemap) (*Index, error) {
	plain := Open("index.html")
	origin, err := b.origin()
	if err != nil || origin == "" {
		return &Index{plain, Policy, "same-origin"}, err
	}
	meta := fmt.Sprintf("<meta name=\"basemap\" content=\"%s\">\n<meta name=\"basemap-attribution\" content=\"%s\">\n<title>",
		html.EscapeString(b.URL), html.EscapeString(b.Attribution))
	text := bytes.Replace(plain.Plain, []byte("<title>"), []byte(meta), 1)
	sum := sha256.Sum256(text)
	return &Index{
		&File{Type: plain.Type, ETag: base64.RawURLEncoding.EncodeToString(sum[:12]), Plain: text},
		strings.Replace(Policy, "connect-src 'self'", "connect-src 'self' "+origin, 1),
		// Map servers require it: the site, but not the address of the page.
		"strict-origin-when-cross-origin",
	}, nil
}
