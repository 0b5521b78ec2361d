package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
)

// recordUser puts, deletes and gets records of its own without a pause.
type recordUser struct {
	t       *testing.T
	name    string
	records *catfish.Records
	done    atomic.Int64
	unknown int
	// is what each key must have; after a write of unknown outcome it may have maybe.
	is, maybe map[string]string
}

func startRecordUser(t *testing.T, addrs string, policy, name string, o model.RecordsOptions) *recordUser {
	t.Helper()
	c, err := catfish.Dial(t.Context(), addrs, catfish.Options{
		Transport: model.TransportSoft, Policy: policy, Shared: new(catfish.Shared), Logger: catfishtest.Quiet(),
		OnRestart: func(context.Context, catfish.ServerInfo, catfish.ServerInfo) error {
			t.Error("another member counts as a restarted server")
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.CreateRecords(t.Context(), "records", o); err != nil {
		t.Fatal(err)
	}
	r, err := c.Records("records")
	if err != nil {
		t.Fatal(err)
	}
	return &recordUser{t: t, name: name, records: r, is: map[string]string{}, maybe: map[string]string{}}
}

// gone is the value of a key without a record.
const gone = ""

// run writes and reads until it is stopped. Each tenth value is sent in parts.
func (u *recordUser) run(ctx context.Context, stop *atomic.Bool) {
	for n := 0; !stop.Load() && !u.t.Failed(); n++ {
		key, value := fmt.Sprint(u.name, n%7), fmt.Sprint(n)
		switch n % 10 {
		case 0:
			value = string(catfishtest.Numbered(uint64(n), 200_000))
		case 1: // about the longest request
			value = string(catfishtest.Numbered(uint64(n), 64<<10-200+n%200))
		}
		var err error
		if n%3 == 2 && u.is[key] != gone {
			value = gone
			err = u.records.Delete(ctx, []byte(key), model.Condition{})
			if errors.Is(err, model.ErrNotFound) && u.mayBe(key, gone) {
				err = nil
			}
		} else {
			_, err = u.records.Put(ctx, model.Record{Key: []byte(key), Value: []byte(value)}, model.Condition{})
		}
		switch {
		case errors.Is(err, model.ErrUnknownOutcome):
			u.maybe[key] = value
			u.unknown++
		case err != nil:
			u.t.Errorf("%s: write %d: %v", u.name, n, err)
			return
		default:
			u.is[key] = value
			delete(u.maybe, key)
		}
		u.verify(ctx, key)
		u.done.Add(1)
	}
}

func (u *recordUser) mayBe(key, value string) bool {
	maybe, is := u.maybe[key]
	return u.is[key] == value || is && maybe == value
}

// verify wants that a key has what was acknowledged last.
func (u *recordUser) verify(ctx context.Context, key string) {
	u.t.Helper()
	rec, err := u.records.Get(ctx, []byte(key), nil)
	value := string(rec.Value)
	if errors.Is(err, model.ErrNotFound) {
		value, err = gone, nil
	}
	if err != nil || !u.mayBe(key, value) {
		u.t.Errorf("%s: get %q: %.20q of %d bytes, %v, want %.20q of %d", u.name, key, value, len(value), err, u.is[key], len(u.is[key]))
	}
}

// Records of a group, which keeps them without being asked to, are at the next
// primary when one is killed or stands still, with shards and without, whether clients get
// them by messages or read them: nothing that was acknowledged is lost.
func TestRecordsSurviveTheLossOfThePrimary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal os.Signal
		shards int
	}{"killed": {os.Kill, 0}, "stopped, shards": {syscall.SIGSTOP, 3}} {
		t.Run(name, func(t *testing.T) {
			registry, members, addrs := startGroup(t, startChild)
			var users []*recordUser
			var stop atomic.Bool
			ended := make(chan struct{})
			for _, policy := range []string{"fast", "offload", "offload-cached"} {
				u := startRecordUser(t, addrs, policy, policy, model.RecordsOptions{Shards: c.shards})
				users = append(users, u)
				go func() { u.run(t.Context(), &stop); ended <- struct{}{} }()
			}
			goOn := func() {
				t.Helper()
				for _, u := range users {
					from := u.done.Load()
					catfishtest.Eventually(t, "writes and reads continue", func() bool { return t.Failed() || u.done.Load() > from+20 })
				}
			}
			goOn()
			old := groupOf(t, registry)
			if err := members[old.Primary].child.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			goOn()
			if g := groupOf(t, registry); g.Primary == old.Primary || g.Term <= old.Term {
				t.Errorf("afterwards: %+v", g)
			}
			stop.Store(true)
			for range users {
				<-ended
			}
			for _, u := range users {
				if u.unknown > 0 {
					t.Errorf("%s: %d writes of unknown outcome: they are not repeated", u.name, u.unknown)
				}
				for key := range u.is {
					u.verify(t.Context(), key)
				}
			}
			n := 0
			for rec, err := range users[0].records.Scan(t.Context()) {
				if n++; err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(users, func(u *recordUser) bool { return u.is[string(rec.Key)] != gone || u.maybe[string(rec.Key)] != gone }) {
					t.Errorf("%q exists", rec.Key)
				}
			}
			if n == 0 {
				t.Error("a scan finds no records")
			}
		})
	}
}
