package fetch

// Retries is how many Reads in a row find nothing until an answer is late: the R of
// RFP's successor (EuroSys 2017, section 3.2).
const Retries = 5

// FirstBytes is the first Read of a client that chooses, RFP's default (section 3.2).
const FirstBytes = 256

// Size chooses how much the next Read of answers brings, in units of its owner: lines,
// or bytes.
//
//	filled, and more is to come  --> half as much again
//	filled or not, by all        --> an eighth less, but not less than it brought
//	it found nothing             --> the same
//	the rest of a long answer    --> exactly that, and no change
//
// So one Read brings an answer, or all answers of that moment, and a client needs no
// calibration. If answers differ, the sizes settle where one Read in four is too short:
// log(8/7) / (log(8/7) + log 1.5). A fixed size is RFP's F: it never changes, and what is missing of an
// answer is read in one further Read of just that.
type Size struct {
	next, most int
	fixed      bool
}

// NewSize returns a Size that begins with first units and never has more than most.
func NewSize(first, most int) Size { return Size{next: min(first, most), most: most} }

// FixedSize returns a Size of always the same number of units.
func FixedSize(units, most int) Size { return Size{next: min(units, most), most: most, fixed: true} }

// Read returns the units of the next Read. missing is what is known to lack of an
// answer, 0 if none has begun.
func (s *Size) Read(missing int) int {
	if s.fixed && missing > 0 {
		return min(missing, s.most)
	}
	return min(max(s.next, missing), s.most)
}

// Brought notes that a Read of asked units has brought units. more: the last answer is
// not complete, or others are waited for.
func (s *Size) Brought(asked, units int, more bool) {
	switch {
	case s.fixed || units == 0 || asked > s.next:
	case units == asked && more:
		s.next = min(s.next+(s.next+1)/2, s.most)
	default:
		s.next = max(units, s.next-max(1, s.next/8))
	}
}

// Tries counts Reads in a row that found nothing. The zero value has no limit.
type Tries struct {
	Limit int // from this number on, the answer is late; 0: it never is
	vain  int
}

// Vain notes a Read that found nothing.
func (t *Tries) Vain() { t.vain++ }

// Found notes a Read that found something, or that another answer is waited for.
func (t *Tries) Found() { t.vain = 0 }

// InVain reports whether the last Read found nothing.
func (t *Tries) InVain() bool { return t.vain > 0 }

// Late reports whether to ask the server for the answer.
func (t *Tries) Late() bool { return t.Limit > 0 && t.vain >= t.Limit }
