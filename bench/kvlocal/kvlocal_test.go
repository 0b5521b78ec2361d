package kvlocal

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ignore(string) {}

// All ways find the same, in batches that do and do not divide the lookups.
func TestGet(t *testing.T) {
	for _, batch := range []int{1, 7, 300} {
		rows, err := Get(t.Context(), GetConfig{Keys: 3000, ValueBytes: 32, Ops: 1000, Rounds: 3, Batch: batch, Seed: 1}, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 3 || rows[0].Rate != 1 {
			t.Fatalf("%+v", rows)
		}
		for _, r := range rows {
			if r.Wall <= 0 || r.CPU <= 0 || r.Least > r.CPU || r.CPU > r.Most || r.Rate <= 0 || r.Keys != 3000 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// Rows cover all updates, and dead records do not accumulate.
func TestPut(t *testing.T) {
	var rows []PutRow
	if err := Put(t.Context(), PutConfig{Keys: 100, ValueBytes: 32, Updates: 5001, Parts: 3, Seed: 1}, func(r PutRow) { rows = append(rows, r) }); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].Updates != 1667 || rows[2].Updates != 5001 {
		t.Fatalf("%+v", rows)
	}
	for _, r := range rows {
		if r.Rate <= 0 || r.Heap == 0 || r.Spans == 0 || r.Retired > r.Spans {
			t.Errorf("%+v", r)
		}
	}
}

// The loads are those of the literature: half with one item a bucket, and above
// 0.9 with four.
func TestLoad(t *testing.T) {
	rows := 0
	if err := Load(t.Context(), LoadConfig{Buckets: 1 << 12, Seeds: 3}, func(r LoadRow) {
		rows++
		least, most := 0.9, 1.0
		if r.Items == 1 {
			least, most = 0.4, 0.6
		}
		if r.FirstStash < least || r.Growth > most || r.Growth < r.FirstStash || r.FirstStashLeast > r.FirstStash {
			t.Errorf("%+v", r)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if rows != len(layouts) {
		t.Errorf("%d rows", rows)
	}
}

// Every insertion ends, and only random walks loop.
func TestInserts(t *testing.T) {
	rows := map[string]InsertsRow{}
	loops := map[string]uint64{}
	const inserts = 300_000
	if err := Inserts(t.Context(), InsertsConfig{Inserts: inserts, Buckets: 64, Seed: 1}, ignore, func(r InsertsRow) {
		rows[r.Line()] = r
		loops[r.Kind] += r.Loops
		if r.Kind == "gcuckoo" && r.Items == 1 && r.CaseA+r.CaseB+r.CaseC1+r.CaseC2+r.CaseC3 != r.Inserts {
			t.Errorf("the cases are not all insertions: %+v", r)
		}
		if r.Longest >= 2*64 || r.Kind == "gcuckoo" && r.Tables < 2 {
			t.Errorf("%+v", r)
		}
	}); err != nil {
		t.Fatal(err)
	}
	var all uint64
	for _, r := range rows {
		if r.Kind == "gcuckoo" {
			all += r.Inserts
		}
	}
	if all < inserts || loops["gcuckoo"] != 0 || loops["conventional"] == 0 {
		t.Errorf("%d inserts, loops %v", all, loops)
	}
}

func TestEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Get(ctx, GetConfig{Keys: 10, ValueBytes: 8, Ops: 1, Rounds: 1, Batch: 1}, ignore)
	for _, err := range []error{
		err,
		Put(ctx, PutConfig{Keys: 10, ValueBytes: 8, Updates: 1, Parts: 1}, func(PutRow) {}),
		Load(ctx, LoadConfig{Buckets: 64, Seeds: 1}, func(LoadRow) {}),
		Inserts(ctx, InsertsConfig{Inserts: 1, Buckets: 64}, ignore, func(InsertsRow) {}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestValidate(t *testing.T) {
	get := GetConfig{Keys: 1, ValueBytes: 8, Ops: 1, Rounds: 1, Batch: 1}
	put := PutConfig{Keys: 1, ValueBytes: 8, Updates: 1, Parts: 1}
	if err := errors.Join(get.Validate(), put.Validate()); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*GetConfig){
		func(c *GetConfig) { c.Keys = 0 }, func(c *GetConfig) { c.ValueBytes = 7 }, func(c *GetConfig) { c.ValueBytes = maxValue + 1 },
		func(c *GetConfig) { c.Ops = 0 }, func(c *GetConfig) { c.Rounds = 0 }, func(c *GetConfig) { c.Batch = 0 },
	} {
		c := get
		if change(&c); !errors.Is(c.Validate(), ErrConfig) {
			t.Errorf("%+v", c)
		}
	}
	for _, err := range []error{
		(&PutConfig{Keys: 1, ValueBytes: 8, Updates: 1, Parts: 2}).Validate(),
		(&PutConfig{Keys: 1, ValueBytes: 8, Updates: 1}).Validate(),
		(&LoadConfig{Buckets: 64}).Validate(), (&LoadConfig{Buckets: 100, Seeds: 1}).Validate(),
		(&InsertsConfig{Buckets: 64}).Validate(), (&InsertsConfig{Buckets: 32, Inserts: 1}).Validate(),
	} {
		if !errors.Is(err, ErrConfig) {
			t.Error(err)
		}
	}
}

// Lines have as many columns as their headings.
func TestColumns(t *testing.T) {
	for _, r := range []Row{GetRow{}, PutRow{}, LoadRow{}, InsertsRow{}, ShardsRow{}} {
		if h, l := strings.Count(r.Heading(), "\t"), strings.Count(r.Line(), "\t"); h != l {
			t.Errorf("%T: %d columns, %d headings", r, l+1, h+1)
		}
	}
}
