package attack

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
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
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + strings.Join(append(headers, "", ""), "\r\n")
}
