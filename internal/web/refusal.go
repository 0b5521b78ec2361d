package web

import "net/http"

// Answers to refused requests
//
// A request that finds no room is answered with 503, and the answer takes room as well:
// its goroutine, headers and buffers until the client takes the answer, which over
// HTTP/2 is the client's choice (RFC 9113 section 5.2). With 100 requests on each of
// 4096 connections that would be 8 GiB beside the budget. So such answers need places,
// and a request that gets no place ends without an answer:
//
//	HTTP/2    RST_STREAM; the connection's other requests continue
//	HTTP/1.1  the connection is closed

// maxRefusals is the number of such answers that are written at a time. Each takes up
// to 100 KiB, most of it for headers.
const maxRefusals = 512

// refuse writes such an answer if a place is free.
func (q *request) refuse(write func()) {
	select {
	case q.refusals <- struct{}{}:
		defer func() { <-q.refusals }()
		write()
	default:
		q.w.status = http.StatusServiceUnavailable // for Options.Observe
		panic(http.ErrAbortHandler)
	}
}
