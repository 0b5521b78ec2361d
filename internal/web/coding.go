package web

import (
	"net/http"
	"strconv"
	"strings"
)

// Content codings (RFC 9110 section 8.4.1). An answer is compressed if the client
// accepts that, if its type is a text or tile type, and if it has more bytes than a
// network packet, below which compression gains nothing. Of codings that the client
// likes equally, zstd is taken: it is as fast as gzip, and smaller.

// coding is a content coding.
type coding uint8

const (
	identity coding = iota
	zstdCoding
	gzipCoding
	codings
)

var codingNames = [codings]string{"identity", "zstd", "gzip"}

func (c coding) String() string { return codingNames[c] }

// minCoded is the smallest answer that is compressed: a shorter one fits, with its
// headers, in one packet anyway.
const minCoded = 1 << 10

// accepted has the quality that a client gives each coding; 0: not accepted.
type accepted [codings]float64

// acceptedCodings reads Accept-Encoding (RFC 9110 section 12.5.3). Malformed parts are
// ignored.
func acceptedCodings(h http.Header) (a accepted) {
	values := h.Values("Accept-Encoding")
	a[identity] = 1
	if len(values) == 0 {
		return a // The standard allows any coding without the header; such a client gets identity.
	}
	const notSaid = -1
	for c := range a {
		a[c] = notSaid
	}
	others := float64(notSaid)
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, parameters, _ := strings.Cut(part, ";")
		quality, ok := qualityOf(parameters)
		if !ok {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "zstd":
			a[zstdCoding] = quality
		case "gzip", "x-gzip":
			a[gzipCoding] = quality
		case "identity":
			a[identity] = quality
		case "*":
			others = quality
		}
	}
	for c := range a {
		switch {
		case a[c] != notSaid:
		case coding(c) == identity && others != 0:
			a[c] = least // Identity is acceptable unless it is excluded, but at the lowest quality.
		case others != notSaid:
			a[c] = others
		default:
			a[c] = 0
		}
	}
	return a
}

// least is below any quality that a client can give.
const least = 0.0001

// qualityOf is the quality in parameters such as " q=0.5", 1 by default.
func qualityOf(parameters string) (quality float64, ok bool) {
	name, value, has := strings.Cut(parameters, "=")
	if !has {
		return 1, strings.TrimSpace(parameters) == ""
	}
	quality, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return quality, err == nil && quality >= 0 && quality <= 1 && strings.EqualFold(strings.TrimSpace(name), "q")
}

// best is the coding for an answer of size bytes. A client that accepts none gets the
// answer uncompressed: that helps it more than an error.
func (a *accepted) best(size int) coding {
	if size < minCoded && a[identity] > 0 {
		return identity
	}
	best := identity
	for _, c := range []coding{zstdCoding, gzipCoding} {
		if a[c] > a[best] {
			best = c
		}
	}
	return best
}

// compressible reports whether answers of a media type become smaller. Events are sent
// one by one and must not wait in an encoder.
func compressible(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	switch {
	case t == "text/event-stream":
		return false
	case strings.HasPrefix(t, "text/"), strings.HasSuffix(t, "json"), t == typeMVT:
		return true
	}
	return false
}
