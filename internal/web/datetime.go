package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Times
//
// The time of a feature is one property (Options.Time), a text: a moment by RFC 3339,
// or a date, which is the whole day in UTC. Parameter datetime is a moment, a date, or
// two of them with a slash between; either may be ".." or empty, which means open. A
// feature without a time matches every interval, as the standard requires.

// interval is a closed interval of time. A zero end is open.
type interval struct{ from, to time.Time }

// datetime is parameter datetime as a condition on a property, in the language of
// filters; empty if the parameter is absent.
func (p *params) datetime(property string) (string, error) {
	text, ok := p.take("datetime")
	if !ok {
		return "", nil
	}
	in, err := parseInterval(text)
	if err != nil {
		return "", &paramError{name: "datetime", value: text, err: err,
			want: "a time such as 2024-05-01T12:00:00Z, a date, or two of them as FROM/TO, of which one may be .."}
	}
	return in.filter(property), nil
}

func parseInterval(text string) (in interval, err error) {
	first, last, two := strings.Cut(text, "/")
	if !two {
		in.from, in.to, err = parseTime(text)
		return in, err
	}
	open := func(s string) bool { return s == "" || s == ".." }
	if open(first) && open(last) {
		return in, errors.New("both ends are open")
	}
	if !open(first) {
		if in.from, _, err = parseTime(first); err != nil {
			return in, err
		}
	}
	if !open(last) {
		if _, in.to, err = parseTime(last); err != nil {
			return in, err
		}
	}
	if !open(first) && !open(last) && in.to.Before(in.from) {
		return in, errors.New("the end is before the beginning")
	}
	return in, nil
}

// parseTime returns the first and the last moment of a time or date.
func parseTime(text string) (first, last time.Time, err error) {
	if first, err = time.Parse(time.DateOnly, text); err == nil {
		last = first.AddDate(0, 0, 1).Add(-1)
	} else if first, err = time.Parse(time.RFC3339, text); err == nil {
		last = first
	}
	// Package filter computes with these years only.
	if err != nil || first.UTC().Year() < 1 || last.UTC().Year() > 9999 {
		return first, last, fmt.Errorf("%.40q is neither a time nor a date", text)
	}
	return first, last, nil
}

// filter is a condition: the property is in the interval, or is not a text.
func (in interval) filter(property string) string {
	p := "properties[" + strconv.Quote(property) + "]"
	at := func(clock string) string {
		return "(size(" + p + ") == 10 ? timestamp(" + p + ` + "T` + clock + `Z") : timestamp(` + p + "))"
	}
	moment := func(t time.Time) string { return `timestamp("` + t.UTC().Format(time.RFC3339Nano) + `")` }
	var and []string
	if !in.from.IsZero() {
		and = append(and, at("23:59:59.999999999")+" >= "+moment(in.from))
	}
	if !in.to.IsZero() {
		and = append(and, at("00:00:00")+" <= "+moment(in.to))
	}
	return "(!(" + strconv.Quote(property) + " in properties) || " + p + " == null || " + strings.Join(and, " && ") + ")"
}
