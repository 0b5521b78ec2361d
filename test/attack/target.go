package attack

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/catfish"
)

// Target is a server to attack.
type Target struct {
	Addr   string `json:"addr"`
	GRPC   string `json:"grpc"`
	HTTP   string `json:"http"`   // empty: no HTTP, and no TLS
	Socket string `json:"socket"` // of transport shm
	BootID uint64 `json:"boot_id,string"`
}

// The kinds of streams on the server's TCP port, and its first eight bytes
// (internal/wire/hello.go).
const (
	streamHello = 1
	streamSoft  = 2
	streamTCP   = 3

	streamMagic = 0x53465443
)

func preamble(kind uint16) []byte {
	b := binary.LittleEndian.AppendUint32(nil, streamMagic)
	b = binary.LittleEndian.AppendUint16(b, catfish.ProtocolVersion)
	return binary.LittleEndian.AppendUint16(b, kind)
}

// patience bounds every operation that should take no time.
const patience = 10 * time.Second

// NewTarget queries the server at addr.
func NewTarget(ctx context.Context, addr, grpc string) (t Target, err error) {
	t = Target{Addr: addr, GRPC: grpc}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return t, fmt.Errorf("attack: %w", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return t, err
	}
	if _, err := c.Write(preamble(streamHello)); err != nil {
		return t, fmt.Errorf("attack: hello: %w", err)
	}
	if err := json.NewDecoder(c).Decode(&t); err != nil {
		return t, fmt.Errorf("attack: hello: %w", err)
	}
	return t, nil
}
