package rdmatest

import (
	"errors"
	"math/rand/v2"

	"github.com/catfish-index/catfish/internal/rdma"
)

// The requests of the cases: n bytes between local offset lo of region
// l and remote offset ro of region r. The suite runs both sides, so it
// takes the key from the peer's Region.

func read(id uint64, l rdma.Region, lo int, r rdma.Region, ro, n int) rdma.WorkRequest {
	return request(rdma.OpRead, id, l, lo, r, ro, n)
}

func write(id uint64, l rdma.Region, lo int, r rdma.Region, ro, n int) rdma.WorkRequest {
	return request(rdma.OpWrite, id, l, lo, r, ro, n)
}

func writeImm(id uint64, imm uint32, l rdma.Region, lo int, r rdma.Region, ro, n int) rdma.WorkRequest {
	w := request(rdma.OpWriteImm, id, l, lo, r, ro, n)
	w.Imm = imm
	return w
}

func request(op rdma.Op, id uint64, l rdma.Region, lo int, r rdma.Region, ro, n int) rdma.WorkRequest {
	return rdma.WorkRequest{
		Op: op, ID: id,
		Local:  rdma.Buffer{Region: l, Offset: lo, Len: n},
		Remote: r.Remote().At(uint64(ro)),
	}
}

// event is a WriteImm without bytes.
func event(id uint64, imm uint32) rdma.WorkRequest {
	return rdma.WorkRequest{Op: rdma.OpWriteImm, ID: id, Imm: imm}
}

func unsignaled(w rdma.WorkRequest) rdma.WorkRequest {
	w.Unsignaled = true
	return w
}

func isFull(err error) bool { return errors.Is(err, rdma.ErrQueueFull) }

// fill writes bytes that the seed determines and that repeat nowhere.
func fill(b []byte, seed uint64) {
	g := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	_, _ = g.Read(b) // never fails
}
