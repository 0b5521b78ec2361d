package rhkv

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/lines"
)

// FlushRow compares what makes an item whole after a crash: a checksum (CRC-32C, as records have), by which a
// reader finds that a part is missing, or CLFLUSH of each line and MFENCE. The memory is ordinary: what a flush to a
// persistent one takes is not known here. The times are those of storing the item and of that.
type FlushRow struct {
	Bytes   int     `json:"bytes"`
	StoreNs float64 `json:"store_ns"`
	CRCNs   float64 `json:"crc_ns"`
	FlushNs float64 `json:"flush_ns"`
	// Times is the median over the rounds of FlushNs by CRCNs.
	Times  float64 `json:"flush_by_crc"`
	Commit string  `json:"commit"`
}

// flushItems are the items of a round: together less than a processor's cache holds, so that an item is cached
// when it is stored, unless it was flushed.
const flushItems = 64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Flush measures items of 64 bytes to 4 KiB in rounds of a millisecond for each of the three.
func Flush(ctx context.Context, rounds int, commit string, done func(FlushRow)) error {
	if err := harness.CheckRange("repeat", rounds, 1, harness.MaxRepeat); err != nil {
		return err
	}
	if !canFlush {
		return fmt.Errorf("%w: flushes are measured on amd64 only", harness.ErrConfig)
	}
	for n := lines.Bytes; n <= 4096; n *= 2 {
		mem, item := make([]byte, (flushItems+1)*n), make([]byte, n)
		mem = mem[-uintptr(unsafe.Pointer(&mem[0]))%lines.Bytes:]
		after := []func(item []byte){
			func([]byte) {},
			func(item []byte) { _ = crc32.Checksum(item, castagnoli) },
			func(item []byte) { flush(unsafe.Pointer(&item[0]), n/lines.Bytes) },
		}
		runs := make([][]float64, len(after))
		var times []float64
		for range rounds {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for i, f := range after {
				stored, began := 0, time.Now()
				for time.Since(began) < time.Millisecond {
					for at := range flushItems {
						item[0]++
						copy(mem[at*n:], item)
						f(mem[at*n:][:n])
					}
					stored += flushItems
				}
				runs[i] = append(runs[i], float64(time.Since(began))/float64(stored))
			}
			last := len(runs[0]) - 1
			times = append(times, runs[2][last]/runs[1][last])
		}
		done(FlushRow{n, stats.Median(runs[0]), stats.Median(runs[1]), stats.Median(runs[2]), stats.Median(times), commit})
	}
	return nil
}

// WriteFlush writes the table in Markdown, and nothing without rows.
func WriteFlush(w io.Writer, rows []FlushRow) error {
	if len(rows) == 0 {
		return nil
	}
	text := "| bytes | stored, ns | and its CRC-32C | and flushed | flush by CRC |\n|---|---|---|---|---|\n"
	for _, r := range rows {
		text += fmt.Sprintf("| %d | %.1f | %.1f | %.1f | %.1f |\n", r.Bytes, r.StoreNs, r.CRCNs, r.FlushNs, r.Times)
	}
	_, err := io.WriteString(w, text)
	return err
}
