package node

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
)

// A stream begins with a line from each side. The member that is asked refuses before it
// reads or sends anything else, and says why; both write it to their logs.
//
//	greeting: group, key, from  ------------------>
//	                            <------------------ welcome, or why not
//	then the choice of a queue pair (ringpair.go), messages in both directions, or a copy of
//	the store (copy.go)

// greeting is the first line of a stream.
type greeting struct {
	Group string     `json:"group"`
	Key   string     `json:"key,omitempty"`
	From  replica.ID `json:"from"`
	Boot  uint64     `json:"boot"`
	Copy  bool       `json:"copy,omitempty"` // a copy of the store is wanted, and no frames
	Ring  bool       `json:"ring,omitempty"` // a queue pair is wanted, for frames or the copy
}

// welcome answers it.
type welcome struct {
	Refused string `json:"refused,omitempty"` // why
	Busy    bool   `json:"busy,omitempty"`    // another copy is being sent
}

const (
	// lineBytes bounds a line, and refusedBytes the reason in it.
	lineBytes    = 2 << 10
	refusedBytes = 256
	// greetingTime bounds the wait for a line, with the handshake of TLS before it.
	greetingTime = 5 * time.Second
)

var (
	// ErrNotAdmitted: another member refuses this one. It does not until keys, certificates
	// or options are others.
	ErrNotAdmitted = errors.New("replica: not admitted by another member")
	// ErrBusy: a member sends a copy to another one. Ask again.
	ErrBusy = errors.New("replica: a copy is being sent to another member")
)

// greet shows this member to the one that it has dialled.
func (o *Options) greet(c net.Conn, r *bufio.Reader, hi greeting) (err error) {
	hi.Group = o.Group
	if o.Key != nil {
		if hi.Key, err = o.Key(); err != nil {
			return err
		}
	}
	b, _ := json.Marshal(hi) // Numbers and strings cannot fail.
	_ = c.SetDeadline(time.Now().Add(greetingTime))
	if _, err := c.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("replica: greeting the member at %s: %w", c.RemoteAddr(), bare(err))
	}
	var w welcome
	switch err := readLine(r, &w); {
	case err != nil:
		return fmt.Errorf("replica: the member at %s does not answer, or has other options of TLS: %w", c.RemoteAddr(), bare(err))
	case w.Busy:
		return fmt.Errorf("%w: by %s", ErrBusy, c.RemoteAddr())
	case w.Refused != "":
		return fmt.Errorf("%w: that at %s says: %.*q", ErrNotAdmitted, c.RemoteAddr(), refusedBytes, w.Refused)
	}
	return c.SetDeadline(time.Time{})
}

// bare leaves out ports that are others at each attempt: logs have an error once.
func bare(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err
	}
	return err
}

// admit reads a greeting, and answers it. lost is called when the peer's key ends; stop ends
// that.
func (n *Node) admit(c net.Conn, r *bufio.Reader, lost func()) (hi greeting, stop func() bool, err error) {
	_ = c.SetDeadline(time.Now().Add(greetingTime))
	if err := readLine(r, &hi); err != nil {
		return hi, nil, fmt.Errorf("no greeting: %w", err)
	}
	stop = func() bool { return true }
	if n.o.Admit != nil {
		stop, err = n.o.Admit(hi.Key, lost)
	}
	switch {
	case err != nil:
	case hi.Group != n.o.Group:
		err = fmt.Errorf("a member of group %.64q asks one of %q", hi.Group, n.o.Group)
	case hi.From >= replica.MaxMembers:
		err = fmt.Errorf("member %d, want one below %d", hi.From, replica.MaxMembers)
	}
	var w welcome
	if err != nil {
		w.Refused = fmt.Sprintf("%.*s", refusedBytes, err)
	} else if w.Busy = hi.Copy && !n.copying.TryLock(); w.Busy {
		err = ErrBusy
	}
	b, _ := json.Marshal(w)
	_, sent := c.Write(append(b, '\n'))
	if err = errors.Join(err, sent, c.SetDeadline(time.Time{})); err != nil && hi.Copy && w == (welcome{}) {
		n.copying.Unlock()
	}
	return hi, stop, err
}

// readLine reads a line of JSON.
func readLine(r *bufio.Reader, to any) error {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("a line of more than %d bytes", r.Size())
	case err != nil:
		return err
	}
	if err := json.Unmarshal(line, to); err != nil {
		return fmt.Errorf("%.32q is no line of a member: %w", line, err)
	}
	return nil
}
