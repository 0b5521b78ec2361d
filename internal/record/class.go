package record

// Size classes
//
// A place of class c has classLines[c] lines. Up to 16 lines, 1 KiB, there is a
// class for each number of lines. Beyond that a class is a span divided by a whole
// number, the number growing by about an eighth from class to class: what a span
// cannot be divided into is less than one place, and under a hundredth of it. So a
// record wastes less than an eighth of its place; less than a fifth beyond 32 KiB,
// where spans are divided by 7, 6, 5 and 4 (TestClasses).
//
// Steps of a quarter from 8 lines on took 3.3 % more memory for features of
// OpenStreetMap (docs/decisions/records.md); steps of a sixteenth would take 1 %
// less.

const (
	// SpanBytes is the unit in which memory passes from class to class.
	// Smaller ones would waste more on the largest places, larger ones more
	// on classes with few records.
	SpanBytes = 256 << 10
	spanLines = SpanBytes / LineBytes

	exactLines = 16 // classes of every number of lines
)

// classLines are the sizes of places, ascending. classOf[n] is the first
// class whose places have n lines or more.
var classLines, classOf = func() (sizes []uint16, of [lenMask + 2]uint8) {
	for n := spanLines / (lenMask + 1); ; n = max(n+1, n*9/8) {
		lines := spanLines / n
		if lines <= exactLines {
			break
		}
		sizes = append(sizes, uint16(lines))
	}
	for n := exactLines; n > 0; n-- {
		sizes = append(sizes, uint16(n))
	}
	for i, j := 0, len(sizes)-1; i < j; i, j = i+1, j-1 {
		sizes[i], sizes[j] = sizes[j], sizes[i]
	}
	c := 0
	for n := 1; n < len(of); n++ {
		if n > int(sizes[c]) {
			c++
		}
		of[n] = uint8(c)
	}
	return sizes, of
}()

// placesOf is the number of places in a span of the class.
func placesOf(class uint8) int { return spanLines / int(classLines[class]) }
