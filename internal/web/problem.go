package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/web/tile"
)

// problem is the body of an answer that reports an error (RFC 9457). Its type is
// about:blank: the status says which error.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Parameter is the wrong parameter of the query, or the wrong part of the body;
	// Value is its value, Limit what is accepted.
	Parameter string `json:"parameter,omitempty"`
	Value     string `json:"value,omitempty"`
	Limit     string `json:"limit,omitempty"`
	// Column in a filter, in characters, from 1, or a JSON pointer into the filter.
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	// Uploaded counts what an upload stored before it ended.
	Uploaded *uploaded `json:"uploaded,omitempty"`
}

// Errors of a parameter.
var (
	errTwice   = errors.New("it is there twice") // One value would have to be ignored.
	errEmpty   = errors.New("it is empty")
	errMissing = errors.New("it is missing")
	errUnknown = errors.New("it is unknown here")
	errNotUTF8 = errors.New("its name or value is not UTF-8")
	errTooMany = errors.New("there are more of them than a request may have")
)

// paramError is an error of a parameter: 400.
type paramError struct {
	name, value string
	want        string // the accepted values
	err         error  // nil, or the parameter's error
}

func (e *paramError) Error() string {
	s := fmt.Sprintf("parameter %.100q", e.name)
	if e.value != "" {
		s += fmt.Sprintf(" is %.100q", e.value)
	}
	switch {
	case e.err != nil:
		s += ": " + e.err.Error()
	case e.value == "":
		s += ": " + errEmpty.Error()
	}
	if e.want != "" {
		s += ", want " + e.want
	}
	return s
}

func (e *paramError) Unwrap() error { return e.err }

// statusError is an error that has a status of its own.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

const (
	// busyRetry suits answers, which clients take within a second or so, and a
	// restarting server.
	busyRetry = time.Second
	// maxDetail bounds the text of an error, and maxValue the value in it.
	maxDetail, maxValue = 800, 200
)

// statuses are those of errors that other protocols do not have. The first match
// counts.
var statuses = []struct {
	is     error
	status int
}{
	{tile.ErrNoTile, http.StatusNotFound},
	{tile.ErrSpace, http.StatusNotFound},
	{tile.ErrTooMany, http.StatusBadRequest},
	{errStopping, http.StatusServiceUnavailable},
}

// problemOf is the answer that reports an error.
func problemOf(err error) problem {
	var param *paramError
	var own *statusError
	var late *timeoutError
	var large *http.MaxBytesError
	p := problem{Status: http.StatusInternalServerError, Detail: clip(withoutPackages(err.Error()), maxDetail)}
	switch {
	case errors.As(err, &param):
		p.Status = http.StatusBadRequest
		p.Parameter, p.Value, p.Limit = clip(param.name, maxValue), clip(param.value, maxValue), clip(param.want, maxValue)
		p.Column, p.Pointer = placeOf(err)
	case errors.As(err, &own):
		p.Status = own.status
	case errors.As(err, &late):
		p.Status = http.StatusServiceUnavailable
	case errors.As(err, &large):
		p.Status = http.StatusRequestEntityTooLarge
		p.Detail = fmt.Sprintf("the body has more than %d bytes", large.Limit)
		p.Limit = strconv.FormatInt(large.Limit, 10)
	default:
		p.Status = status.HTTP(err)
		for _, e := range statuses {
			if errors.Is(err, e.is) {
				p.Status = e.status
				break
			}
		}
	}
	var up *uploadError
	if errors.As(err, &up) {
		p.Uploaded = up.uploaded
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// fail answers with an error.
func (q *request) fail(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		// The reason why the server ended the request is more precise.
		if why := context.Cause(q.ctx); why != nil {
			err = why
		}
	}
	if errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // The client has disconnected.
	}
	if errors.Is(err, limits.ErrExceeded) {
		q.refuse(func() { q.answerProblem(err) })
		return
	}
	q.answerProblem(err)
}

// answerProblem answers with the problem of an error.
func (q *request) answerProblem(err error) {
	p := problemOf(err)
	h := q.w.Header()
	h.Del("ETag")
	switch p.Status {
	case http.StatusInternalServerError:
		q.o.Logger.Warn("HTTP request failed", "method", q.r.Method, "path", clip(q.r.URL.Path, maxValue), "err", err)
		if !errors.Is(err, fault.ErrUnknownOutcome) {
			p.Detail = "the server failed; its log says why"
		}
	case http.StatusUnauthorized:
		h.Add("WWW-Authenticate", `Bearer realm="catfish"`)
		h.Add("WWW-Authenticate", `Basic realm="catfish", charset="UTF-8"`)
	}
	if after := retryAfter(err, p.Status); after > 0 {
		h.Set("Retry-After", seconds(after))
	}
	h.Set("Cache-Control", "no-store")
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // It has only strings and numbers.
	}
	_ = q.send(p.Status, "application/problem+json", append(body, '\n'))
}

// retryAfter is when another attempt may succeed, 0: there is no such time.
func retryAfter(err error, code int) time.Duration {
	var rate *access.RateLimitedError
	switch {
	case errors.As(err, &rate):
		return rate.RetryAfter
	case code == http.StatusServiceUnavailable, status.RetryOf(err) == status.Safe:
		return busyRetry
	}
	return 0
}

// seconds is a duration for Retry-After, rounded up.
func seconds(d time.Duration) string {
	return strconv.Itoa(int(math.Ceil(d.Seconds())))
}

// packageNames are the prefixes of errors of Go packages, alone or within others. They
// help programmers only.
var packageNames = regexp.MustCompile(
	`(^|[ (\n])(?:(?:api|catfish|store|disk|kv|filter|record|cuckoo|rstar|access|cql2|tile): )+`)

func withoutPackages(s string) string { return packageNames.ReplaceAllString(s, "$1") }

// clip is at most the first most bytes of s, in whole characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most] + "..."
}
