package rfp

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

func calibrate(t *testing.T, samples ...Sample) *Calibration {
	t.Helper()
	c, err := Calibrate(t.Context(), cluster(t), 1, samples)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCalibrate: F and R follow what was sampled, and the text says why.
func TestCalibrate(t *testing.T) {
	mixed := append(sampled(100, Sample{32, 250}), sampled(10, Sample{1000, 250})...)
	for _, x := range []struct {
		name    string
		samples []Sample
		f, r    [2]int // the least and the largest that is right
		says    string
	}{
		{"small results, a quick server", sampled(3, Sample{34, 250}), [2]int{256, 256}, [2]int{1, 1}, "all results fit the smallest F, 256 bytes"},
		{"all results of 600 bytes", sampled(3, Sample{600, 250}), [2]int{640, 640}, [2]int{1, 1}, "all results fit, and a larger F only takes the link"},
		{"few long ones", mixed, [2]int{256, 384}, [2]int{1, 1}, "9.1 % of the results are longer and take a second read"},
		{"a server of 2.5 us", sampled(3, Sample{34, 2500}), [2]int{256, 256}, [2]int{2, 2}, "with 1, 100.0 % of the answers are written"},
		{"a server of 50 us", sampled(3, Sample{34, 50e3}), [2]int{256, 256}, [2]int{1, 1}, "further reads cost more than they find; 100.0 % of the answers are written"},
	} {
		c := calibrate(t, x.samples...)
		if b := c.Chosen; b.FetchBytes < x.f[0] || b.FetchBytes > x.f[1] || b.Retries < x.r[0] || b.Retries > x.r[1] {
			t.Errorf("%s: F %d, R %d (L %d, H %d, N %d)", x.name, b.FetchBytes, b.Retries, c.Low, c.High, c.Most)
		}
		for _, o := range c.All {
			if o.Mops > 1.006*c.Chosen.Mops {
				t.Errorf("%s: %+v is better than %+v", x.name, o, c.Chosen)
			}
		}
		var out bytes.Buffer
		if err := c.Write(&out); err != nil || !strings.Contains(out.String(), x.says) || !strings.HasPrefix(out.String(), "Simulated: ") {
			t.Errorf("%s: %v\n%s", x.name, err, out.String())
		}
	}
}

func sampled(n int, s Sample) (all []Sample) {
	for range n {
		all = append(all, s)
	}
	return all
}

// TestCalibratedSize: the simulated service agrees: no fixed size is much better than the calibrated one.
func TestCalibratedSize(t *testing.T) {
	p := page(t)
	chosen := value(t, p, "fetch", "calibrated", "Mops")
	for _, bytes := range []string{"64", "256", "512", "1024", "4096"} {
		if fixed := value(t, p, "fetch", bytes, "Mops"); fixed > 1.03*chosen {
			t.Errorf("fetches of %s bytes: %.2f Mops, of the calibrated size %.2f", bytes, fixed, chosen)
		}
	}
}

func TestCalibrationJSON(t *testing.T) {
	c := calibrate(t, Sample{34, 250})
	if c.Low != 256 || c.High != 1536 || c.Most != 4 {
		t.Errorf("L %d, H %d, N %d", c.Low, c.High, c.Most)
	}
	var out bytes.Buffer
	if err := c.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	chosen, rows := 0, 0
	for d := json.NewDecoder(&out); d.More(); rows++ {
		var row struct {
			Choice
			Chosen    bool `json:"chosen"`
			Simulated bool `json:"simulated"`
		}
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if row.Chosen {
			chosen++
		}
		if !row.Simulated || row.Mops <= 0 || row.FetchBytes < c.Low {
			t.Errorf("%+v", row)
		}
	}
	if chosen != 1 || rows != len(c.All) || rows != 4*21 {
		t.Errorf("%d rows, %d chosen", rows, chosen)
	}
}

func TestCalibrateErrors(t *testing.T) {
	for want, samples := range map[string][]Sample{
		"0 sampled calls":             nil,
		"a result of -1 bytes":        {{Bytes: -1}},
		"a result of 40000 bytes":     {{Bytes: 40_000}},
		"NaN ns of work, want 0 to":   {{WorkNs: math.NaN()}},
		"1e+08 ns of work, want 0 to": {{WorkNs: 1e8}},
	} {
		if _, err := Calibrate(t.Context(), cluster(t), 1, samples); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
