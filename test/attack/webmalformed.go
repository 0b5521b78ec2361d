package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// webRubbish are requests that must be refused.
func webRubbish() string {
	long := strings.Repeat("x", 100_000)
	nested := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
	post := func(body string, headers ...string) string {
		return webRequest("POST", webPath+"/items", append(headers, "Content-Type: application/geo+json", fmt.Sprintf("Content-Length: %d", len(body)))...) + body
	}
	all := []string{
		webRequest("GET", "/?"+long), webRequest("GET", "/", "X: "+long), webRequest(long, "/"),
		strings.Repeat("X: y\r\n", 20_000), string(junk(1000)),
		webRequest("GET", webPath+"/items?filter="+strings.Repeat("NOT%20", 5000)+"n=1"),
		webRequest("GET", webPath+"/items?filter-lang=cql2-json&filter="+strings.Repeat("%5B", 10_000)),
		post(nested), post(`{"type":"Feature","geometry":` + strings.Repeat("[", 500_000)), post(`{"type":"Feature","properties":` + nested),
		post("x", "Transfer-Encoding: chunked"), webRequest("POST", webPath+"/items", "Content-Length: -1"),
		webRequest("POST", webPath+"/items", "Content-Type: application/geo+json", "Content-Length: 9999999999999") + "{",
		webRequest("POST", webPath+"/items", "Content-Type: application/geo+json", "Transfer-Encoding: chunked") + "ffffffffffffffff\r\n{",
	}
	return all[rand.IntN(len(all))]
}

var httpMalformed = Attack{
	Name: "http-malformed", shows: "answers", web: true,
	What: "HTTP that is none, lines and headers that are too long, bodies that lie about their length, deeply nested JSON and filters",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(16, 4), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			go func() { _, _ = io.WriteString(c, webRubbish()) }() // The server may refuse it before it is complete.
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if e.count("answers", 1); res.StatusCode < 400 {
				e.count("accepted", 1)
			}
			return nil
		})
	},
}
