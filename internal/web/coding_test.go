package web

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
)

// decoded returns the body after removing its coding.
func (a answer) decoded(t testing.TB) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(a.body)
	var err error
	switch c := a.Header.Get("Content-Encoding"); c {
	case "":
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
			r = d
		}
	default:
		t.Fatalf("Content-Encoding %q", c)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAcceptedCodings(t *testing.T) {
	for header, want := range map[string]coding{
		"none": identity, "": identity, "gzip": gzipCoding, "zstd": zstdCoding, "x-gzip": gzipCoding, "GZIP": gzipCoding,
		"gzip, deflate, br, zstd": zstdCoding, "gzip,deflate": gzipCoding, "br": identity, "deflate": identity,
		"gzip;q=1.0, zstd;q=0.5": gzipCoding, "gzip ; q=0.5 , zstd;Q=0.6": zstdCoding, "gzip;q=0": identity, "zstd;q=0, *": gzipCoding,
		"*": zstdCoding, "*;q=0": identity, "*;q=0, gzip;q=0.1": gzipCoding, "identity": identity, "identity, gzip;q=0.5": identity,
		"identity;q=0": identity, "identity;q=0, *": zstdCoding, "identity;q=0.5, gzip;q=0.4": identity, "identity;q=0.5, gzip": gzipCoding,
		"gzip;q=2": identity, "gzip;q=-1": identity, "gzip;q=NaN": identity, "gzip;q=x": identity, "gzip;r=1": identity, "gzip;": gzipCoding,
		"gzip;q=0.001": gzipCoding, ",,,": identity, "gzip;q=1;q=0": identity,
	} {
		h := http.Header{}
		if header != "none" {
			h.Set("Accept-Encoding", header)
		}
		a := acceptedCodings(h)
		if got := a.best(minCoded); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
		// A short answer stays uncompressed, unless the client does not accept that.
		if got := a.best(minCoded - 1); got != identity && !strings.Contains(header, "identity;q=0, ") && !strings.Contains(header, "*;q=0, ") {
			t.Errorf("%q: %v for what is short", header, got)
		}
	}
	two := http.Header{"Accept-Encoding": {"br", "gzip"}}
	if a := acceptedCodings(two); a.best(minCoded) != gzipCoding {
		t.Error("the second header line does not count")
	}
}

// The same answers, compressed; HEAD has the same headers; and at the end no memory is
// held.
func TestCompressed(t *testing.T) {
	w := newSite(t, Options{Now: func() time.Time { return time.Unix(1e9, 0) }})
	for target, kind := range map[string]string{
		countries + "/items?limit=100": typeGeoJSON, countries + "/items?limit=100&f=html": "text/html; charset=utf-8",
		"/api": typeOpenAPI, countries + "/items/FR": typeGeoJSON, "/conformance": typeJSON, countries + "/nothing?f=" + strings.Repeat("x", 2000): "application/problem+json",
	} {
		plain := w.get(target)
		for header, want := range map[string]string{"gzip": "gzip", "zstd, gzip": "zstd", "br": "", "identity;q=0": "", "gzip;q=0, zstd;q=0": ""} {
			if len(plain.body) < minCoded {
				want = ""
			}
			a := w.get(target, "Accept-Encoding: "+header)
			if got := a.Header.Get("Content-Encoding"); got != want || a.StatusCode != plain.StatusCode || a.Header.Get("Content-Type") != kind {
				t.Errorf("%.50s, %q: %s, %q, %q", target, header, a.Status, got, a.Header.Get("Content-Type"))
			}
			if !bytes.Equal(a.decoded(t), plain.body) {
				t.Errorf("%.50s, %q: another body", target, header)
			}
			if want != "" && len(a.body) > len(plain.body)/2 {
				t.Errorf("%.50s, %q: %d bytes of %d", target, header, len(a.body), len(plain.body))
			}
			if a.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) || !slices.Contains(a.Header.Values("Vary"), "Accept-Encoding") {
				t.Errorf("%.50s, %q: %d bytes, %v", target, header, len(a.body), a.Header)
			}
			head := w.do(http.MethodHead, target, "", "Accept-Encoding: "+header)
			if len(head.body) != 0 || !maps.EqualFunc(head.Header, a.Header, slices.Equal) {
				t.Errorf("HEAD %.50s, %q: %v, want %v", target, header, head.Header, a.Header)
			}
		}
	}
	if u := w.answers.Use(); u.Used != 0 {
		t.Errorf("%+v", u)
	}
	if a := w.get("/", "Accept-Encoding: gzip, identity;q=0"); a.Header.Get("Content-Encoding") != "gzip" || !bytes.Equal(a.decoded(t), w.get("/").body) {
		t.Errorf("what is short, for a client that wants no other: %v", a.Header)
	}
}

// A tag is of one coding; If-Match takes the tags of all codings of a state.
func TestTagsOfCodings(t *testing.T) {
	w := newSite(t, Options{})
	const fr, as = countries + "/items/FR", "Accept-Encoding: "
	plain := w.must(w.get(fr), http.StatusOK).Header.Get("ETag")
	has := map[string]string{}
	for _, c := range []string{"gzip", "zstd"} {
		has[c] = w.must(w.get(fr, as+c), http.StatusOK).Header.Get("ETag")
		if has[c] != strings.TrimSuffix(plain, `"`)+"-"+c+`"` {
			t.Errorf("%s: tag %s, that of the plain one is %s", c, has[c], plain)
		}
	}
	for _, c := range []struct {
		match, accept, tag string // tag: of the 304; empty: 200
	}{
		{has["gzip"], "gzip", has["gzip"]},
		{"W/" + has["gzip"], "gzip", has["gzip"]},
		{has["gzip"], "br", ""},
		{has["gzip"], "gzip;q=0", ""},
		{has["gzip"], "zstd", ""},
		{has["gzip"] + ", " + has["zstd"], "gzip, zstd;q=0.5", has["gzip"]},
		{has["gzip"] + ", " + has["zstd"], "gzip;q=0.5, zstd", has["zstd"]},
		{plain, "gzip", plain},
		{plain, "gzip, identity;q=0", ""},
		{`"r1-gzip"`, "gzip", ""},
		{"*", "gzip", plain},
	} {
		a := w.get(fr, "If-None-Match: "+c.match, as+c.accept)
		want := http.StatusOK
		if c.tag != "" {
			want = http.StatusNotModified
		}
		if a.StatusCode != want || c.tag != "" && (a.Header.Get("ETag") != c.tag || len(a.body) != 0) || !slices.Contains(a.Header.Values("Vary"), "Accept-Encoding") {
			t.Errorf("%+v: %s, %v", c, a.Status, a.Header)
		}
	}
	// Write over a state that was read compressed.
	page := w.must(w.get(fr+"?f=html", as+"gzip"), http.StatusOK).Header.Get("ETag")
	if !strings.HasSuffix(page, `-html-gzip"`) {
		t.Errorf("a page's tag is %s", page)
	}
	w.must(w.do("PATCH", fr, `{"properties":{"a":1}}`, asPatch, "If-Match: W/"+has["gzip"]), http.StatusPreconditionFailed)
	w.must(w.do("PATCH", fr, `{"properties":{"a":1}}`, asPatch, "If-Match: "+page), http.StatusNoContent)
	w.must(w.do("PATCH", fr, `{"properties":{"a":1}}`, asPatch, "If-Match: "+has["gzip"]), http.StatusPreconditionFailed)
	w.must(w.do("PATCH", fr, `{"properties":{"a":1}}`, asPatch, "If-Match: "+w.get(fr, as+"zstd").Header.Get("ETag")), http.StatusNoContent)
}

// Without memory for an encoder, answers are sent uncompressed.
func TestCompressingIsBounded(t *testing.T) {
	w := newSite(t, Options{MaxAnswerBytes: 2*encoderBytes - 1})
	a := w.must(w.get(countries+"/items?limit=100", "Accept-Encoding: gzip"), http.StatusOK)
	if a.Header.Get("Content-Encoding") != "" || len(a.body) < 50_000 {
		t.Errorf("%d bytes, %v", len(a.body), a.Header)
	}
	if u := w.answers.Use(); u.Used != 0 || u.Refused == 0 {
		t.Errorf("%+v", u)
	}
}

// Compressing a large answer takes several scheduling slots.
func TestCompressingSharesSlots(t *testing.T) {
	w := newSiteOf(t, store.Options{Now: stoppedClock}, Options{})
	w.grid(3000)
	const all = empty + "?limit=3000&numberMatched=false"
	begun := func(headers ...string) (int64, answer) {
		h := &countingHost{Alone: limits.Alone{Slots: limits.NewSlots(1)}}
		w.host = h
		a := w.must(w.get(all, headers...), http.StatusOK)
		// A finished request releases its slot.
		if err := h.RunStep(t.Context(), "next", func() {}); err != nil || h.active.Load() != 0 {
			t.Errorf("%d turns are kept, %v", h.active.Load(), err)
		}
		return h.begun.Load(), a
	}
	plain, a := begun()
	steps := int64((len(a.body) - 1) / codedStep)
	if coded, _ := begun("Accept-Encoding: zstd"); coded-plain < steps || steps < 3 {
		t.Errorf("%d turns, %d with compression, want %d more", plain, coded, steps)
	}
}

// Encoders are reused by successive answers, and by many at a time.
func TestEncodersAreShared(t *testing.T) {
	w := newSite(t, Options{})
	ids := []string{"FR", "AT", "ES", "IT", "CH"}
	want := map[string][]byte{}
	for _, id := range ids {
		want[id] = w.get(countries + "/items/" + id).body
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				id, c := ids[(i+j)%len(ids)], []string{"gzip", "zstd"}[(i+j)%2]
				if a := w.get(countries+"/items/"+id, "Accept-Encoding: "+c); !bytes.Equal(a.decoded(t), want[id]) {
					t.Errorf("%s, %s: another body", id, c)
				}
			}
		})
	}
	all.Wait()
}

func TestEncode(t *testing.T) {
	noise := make([]byte, 5*codedStep)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	for _, c := range []coding{gzipCoding, zstdCoding} {
		never := func(int) error { return nil }
		if _, err := encode(c, nil, noise, never); !errors.Is(err, errTooLong) {
			t.Errorf("%v: noise: %v", c, err)
		}
		text := bytes.Repeat([]byte("catfish "), 5*codedStep/8)
		if _, err := encode(c, nil, text, func(int) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%v: a pause's error: %v", c, err)
		}
		// A failure leaves no state in an encoder.
		for range 3 {
			b, err := encode(c, nil, text, never)
			a := answer{&http.Response{Header: http.Header{"Content-Encoding": {c.String()}}}, b}
			if err != nil || !bytes.Equal(a.decoded(t), text) || len(b) > len(text)/20 {
				t.Errorf("%v: %d bytes, %v", c, len(b), err)
			}
		}
	}
}
