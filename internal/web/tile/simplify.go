package tile

import "github.com/paulmach/orb"

const (
	// tolerance is how far a simplified line may be from the original, in units: a
	// quarter of a pixel, which is half of one where pixels are twice as dense.
	tolerance = pixel / 4
	// simplifyRun bounds the time: Douglas and Peucker's algorithm is quadratic
	// at worst, and runs of this number of positions are simplified separately.
	simplifyRun = 256
)

// simplify leaves out positions of a line, in place, none of which is then
// farther from it than by (Douglas and Peucker, 1973). A ring's ends stay.
func simplify(line []orb.Point, by float64) []orb.Point {
	if len(line) < 3 {
		return line
	}
	out := line[:1]
	for from := 0; from < len(line)-1; from += simplifyRun {
		run := line[from:min(from+simplifyRun+1, len(line))]
		var keep [simplifyRun + 1]bool
		mark(run, &keep, by*by)
		for i := 1; i < len(run)-1; i++ {
			if keep[i] {
				out = append(out, run[i])
			}
		}
		out = append(out, run[len(run)-1]) // Never after the position that is read.
	}
	return out
}

// mark marks the positions between the ends that are needed.
func mark(run []orb.Point, keep *[simplifyRun + 1]bool, by2 float64) {
	var room [simplifyRun + 1][2]int16
	todo := append(room[:0], [2]int16{0, int16(len(run) - 1)})
	for len(todo) > 0 {
		a, b := todo[len(todo)-1][0], todo[len(todo)-1][1]
		todo = todo[:len(todo)-1]
		far, at := by2, int16(0)
		for i := a + 1; i < b; i++ {
			if d := distance2(run[i], run[a], run[b]); d > far {
				far, at = d, i
			}
		}
		if at > 0 {
			keep[at] = true
			todo = append(todo, [2]int16{a, at}, [2]int16{at, b})
		}
	}
}

// distance2 returns the square of the distance of p from the edge from a to b.
func distance2(p, a, b orb.Point) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	x, y := p[0]-a[0], p[1]-a[1]
	if l := dx*dx + dy*dy; l > 0 {
		t := min(max((x*dx+y*dy)/l, 0), 1)
		x, y = x-t*dx, y-t*dy
	}
	return x*x + y*y
}
