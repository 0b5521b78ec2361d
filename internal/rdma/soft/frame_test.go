package soft

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

func TestFrameRoundTrip(t *testing.T) {
	remote := rdma.Remote{Key: 0x1122334455667788, Addr: 0x99aabbccdd}
	write := rdma.WorkRequest{Op: rdma.OpWrite, Remote: remote}
	imm := rdma.WorkRequest{Op: rdma.OpWriteImm, Remote: remote, Imm: 0xdeadbeef}
	read := rdma.WorkRequest{Op: rdma.OpRead, Remote: remote, Unsignaled: true}
	key, off := uint64(remote.Key), remote.Addr
	for _, tc := range []struct {
		b    []byte
		want frame
	}{
		{appendRequest(nil, &write, 9), frame{kindWrite, true, 24, 9, key, off, 0}},
		{appendRequest(nil, &imm, 9), frame{kindWriteImm, true, 32, 9, key, off, 0xdeadbeef}},
		{appendRequest(nil, &imm, 0), frame{kindWriteImm, true, 32, 0, 0, 0, 0xdeadbeef}},
		{appendRequest(nil, &read, 77), frame{kindReadReq, false, 32, 0, key, off, 77}},
		{appendNumber(nil, kindReadResp, 5, 100), frame{kindReadResp, false, 16, 100, 5, 0, 0}},
		{appendNumber(nil, kindAck, 1<<40, 0), frame{kindAck, false, 16, 0, 1 << 40, 0, 0}},
		{appendNumber(nil, kindCredit, 3, 0), frame{kindCredit, false, 16, 0, 3, 0, 0}},
		{appendNak(nil, 6, rdma.StatusRemoteKey), frame{kindNak, false, 24, 0, 6, 0, uint32(rdma.StatusRemoteKey)}},
		{appendHeader(nil, kindBye, false, 0), frame{kind: kindBye, fixed: 8}},
		{appendHeader(nil, kindPing, false, 0), frame{kind: kindPing, fixed: 8}},
		{appendHeader(nil, kindPong, false, 0), frame{kind: kindPong, fixed: 8}},
	} {
		got, ok, err := decode(tc.b, 100)
		if err != nil || !ok || got != tc.want {
			t.Errorf("%s: got %+v %v %v, want %+v", kindName(tc.b[4]), got, ok, err, tc.want)
		}
		if len(tc.b) != tc.want.fixed {
			t.Errorf("%s: %d bytes, want %d", kindName(tc.b[4]), len(tc.b), tc.want.fixed)
		}
		for n := range len(tc.b) {
			if _, ok, err := decode(tc.b[:n], 100); ok || err != nil {
				t.Errorf("%s cut to %d bytes: %v %v", kindName(tc.b[4]), n, ok, err)
			}
		}
	}
}

func TestFrameMalformed(t *testing.T) {
	head := func(length uint32, kind, flags, r1, r2 byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, length)
		return append(append(b, kind, flags, r1, r2), make([]byte, 24)...)
	}
	for name, b := range map[string][]byte{
		"kind 0":           head(8, 0, 0, 0, 0),
		"unknown kind":     head(8, kinds, 0, 0, 0),
		"kind 255":         head(8, 255, 0, 0, 0),
		"length 0":         head(0, kindPing, 0, 0, 0),
		"too short":        head(23, kindWrite, 0, 0, 0),
		"too long":         head(24+101, kindWrite, 0, 0, 0),
		"far too long":     head(1<<32-1, kindReadResp, 0, 0, 0),
		"read with excess": head(33, kindReadReq, 0, 0, 0),
		"ping with excess": head(9, kindPing, 0, 0, 0),
		"unknown flag":     head(24, kindWrite, 2, 0, 0),
		"reserved byte 6":  head(24, kindWrite, 0, 1, 0),
		"reserved byte 7":  head(24, kindWrite, 0, 0, 1),
	} {
		if f, ok, err := decode(b, 100); ok || !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %+v %v %v, want ErrProtocol", name, f, ok, err)
		}
		// It is refused because of its header, before more is read.
		if _, _, err := decode(b[:headBytes], 100); err == nil {
			t.Errorf("%s: the header alone was not refused", name)
		}
	}
}

// FuzzDecode: no panic, and an accepted frame has the length it claims.
func FuzzDecode(f *testing.F) {
	f.Add(appendNumber(nil, kindAck, 1, 0))
	f.Add(appendNak(nil, 6, rdma.StatusRemoteKey))
	f.Add(appendRequest(nil, &rdma.WorkRequest{Op: rdma.OpRead}, 1<<31-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1000
		fr, ok, err := decode(b, most)
		if ok && err != nil {
			t.Fatal("accepted and refused")
		}
		if !ok {
			return
		}
		length := binary.LittleEndian.Uint32(b)
		if fr.fixed > len(b) || fr.payload < 0 || fr.payload > most ||
			uint64(fr.fixed)+uint64(fr.payload) != uint64(length) {
			t.Fatalf("%x gave %+v", b, fr)
		}
	})
}
