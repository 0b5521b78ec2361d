package cli

import "testing"

func TestByteSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1073741824": 1 << 30, "1GiB": 1 << 30, "512 MiB": 512 << 20, "1.5KiB": 1536,
		"2GB": 2e9, "3kB": 3000, "7B": 7, "9007199254740993": 9007199254740993, "-1": -1,
	} {
		var n int64
		if err := (byteSize{&n}).Set(in); err != nil || n != want {
			t.Errorf("%q: %d, %v; want %d", in, n, err, want)
		}
	}
	for _, in := range []string{"", "GiB", "1 GiBs", "x", "NaN", "1e300", "Inf", "8388608TiB"} {
		var n int64
		if err := (byteSize{&n}).Set(in); err == nil {
			t.Errorf("%q: %d", in, n)
		}
	}
}
