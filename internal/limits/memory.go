package limits

// Memory is the memory guard of a process. *catfish.Server is one.
type Memory interface {
	// CheckMemory returns nil, or an error that wraps catfish.ErrBusy and says what is
	// held and what the limit is: then writes, and answers of more than FullAnswer, are
	// refused. It costs little: it is called for each write.
	CheckMemory() error
}

// FullAnswer is the largest answer, in bytes, while memory is full.
const FullAnswer = 1 << 20

// CheckMemory refuses an answer of n bytes that is too large while memory is full. A nil
// Memory is never full.
func CheckMemory(m Memory, n int64) error {
	if m == nil || n <= FullAnswer {
		return nil
	}
	return m.CheckMemory()
}

// Holder counts what a connection holds: an Account, or a connection with one.
type Holder interface {
	Take(n int64) error
	Give(n int64)
}

// Hold sets held, one part of what h holds, to n bytes. If it grows, memory must have
// room for all n. After an error nothing has changed.
func Hold(h Holder, m Memory, held *int64, n int64) error {
	more := n - *held
	if more > 0 {
		if err := CheckMemory(m, n); err != nil {
			return err
		}
		if err := h.Take(more); err != nil {
			return err
		}
	} else if more < 0 {
		h.Give(-more)
	}
	*held = n
	return nil
}
