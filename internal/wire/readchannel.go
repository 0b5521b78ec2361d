package wire

import (
	"encoding/binary"
)

// The private data of a read channel distinguishes it from a ring connection,
// and says for which server it is.
//
//	0 magic u32 | 4 version u16 | 6 zero u16 | 8 boot id u64
const (
	readChannelMagic = 0x4e4c4643 // "CFLN"
	ReadChannelBytes = 16
	// MaxServedChannels bounds the read channels per transport.
	MaxServedChannels = 1 << 16
)

// ReadChannelPrivate is the private data of a read channel to the server of a boot id.
func ReadChannelPrivate(boot uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, readChannelMagic)
	b = binary.LittleEndian.AppendUint16(b, ProtocolVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return binary.LittleEndian.AppendUint64(b, boot)
}

// IsReadChannel reports whether private data is that of a read channel.
func IsReadChannel(p []byte) bool {
	return len(p) >= 4 && binary.LittleEndian.Uint32(p) == readChannelMagic
}
