package rhkv

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/lines"
)

// TestFlush: a row for each size; the bytes stay as they are.
func TestFlush(t *testing.T) {
	var rows []FlushRow
	err := Flush(t.Context(), 3, "c", func(r FlushRow) { rows = append(rows, r) })
	if !canFlush {
		if !errors.Is(err, harness.ErrConfig) {
			t.Error(err)
		}
		return
	}
	if err != nil || len(rows) != 7 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if r.Bytes != lines.Bytes<<i || r.StoreNs <= 0 || r.CRCNs <= 0 || r.FlushNs <= 0 || r.Times <= 0 || r.Commit != "c" {
			t.Errorf("%+v", r)
		}
	}
	item := bytes.Repeat([]byte{1, 2, 3}, 1000)
	whole := bytes.Clone(item)
	flush(unsafe.Pointer(&item[0]), len(item)/lines.Bytes)
	if !bytes.Equal(item, whole) {
		t.Error("a flush changes bytes")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := Flush(ctx, 1, "c", func(FlushRow) {}); !errors.Is(err, why) {
		t.Error(err)
	}
}
