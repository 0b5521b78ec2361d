package web

import "net/http"

// Answers that there is no room
//
// A request that finds no room is answered, by 503, and that takes room as well: its
// goroutine, headers and buffers for as long as the client does not take the answer,
// which over HTTP/2 is the client's choice (RFC 9113 section 5.2). With 100 requests on
// each of 4096 connections that were 8 GiB beside the budget. So such answers have
// places, and a request that gets none ends without one:
//
//	HTTP/2    RST_STREAM; other requests of the connection go on
//	HTTP/1.1  the connection is closed

// maxRefusals is how many of these answers are written at a time. Each takes up to 100
// KiB, most of it headers.
const maxRefusals = 512

// refuse writes such an answer, if it has a place.
func (q *request) refuse(write func()) {
	select {
	case q.refusals <- struct{}{}:
		defer func() { <-q.refusals }()
		write()
	default:
		q.w.status = http.StatusServiceUnavailable // for who observes
		panic(http.ErrAbortHandler)
	}
}
