package window

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// schedule is a crontab line: for each field a bit for each value. The rules are those of robfig/cron, which Argo CD uses.
type schedule struct {
	minute, hour, day, month, weekday uint64
	// anyDay and anyWeekday say that a field begins with * or ?, so that both fields must match and not one of them.
	anyDay, anyWeekday bool
}

// field is a part of a crontab line.
type field struct {
	low, high int
	names     string // of the values from low, three letters each
}

var (
	minutes  = field{0, 59, ""}
	hours    = field{0, 23, ""}
	days     = field{1, 31, ""}
	months   = field{1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}
	weekdays = field{0, 6, "sunmontuewedthufrisat"}
)

func parseSchedule(text string) (s schedule, err error) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return s, fmt.Errorf("schedule %q: a time zone inside a schedule is not evaluated here", text)
	}
	parts := strings.Fields(text)
	if len(parts) != 5 {
		return s, fmt.Errorf("schedule %q: it must have 5 fields, and has %d", text, len(parts))
	}
	for i, to := range []*uint64{&s.minute, &s.hour, &s.day, &s.month, &s.weekday} {
		values, star, err := []field{minutes, hours, days, months, weekdays}[i].parse(parts[i])
		if err != nil {
			return s, fmt.Errorf("schedule %q: %w", text, err)
		}
		*to = values
		s.anyDay, s.anyWeekday = s.anyDay || star && i == 2, s.anyWeekday || star && i == 4
	}
	return s, nil
}

// parse reads a list of ranges. Star reports whether one of them is all values.
func (f field) parse(text string) (values uint64, star bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		v, all, err := f.parseRange(part)
		if err != nil {
			return 0, false, fmt.Errorf("%q: %w", part, err)
		}
		values, star = values|v, star || all
	}
	return values, star, nil
}

// parseRange reads 3, 3-5, 3/2, 3-5/2, * and */2.
func (f field) parseRange(text string) (values uint64, star bool, err error) {
	span, every, stepped := strings.Cut(text, "/")
	first, last, isRange := strings.Cut(span, "-")
	low, high, step := f.low, f.high, 1
	if star = first == "*" || first == "?"; !star {
		if low, err = f.value(first); err != nil {
			return 0, false, err
		}
		if high = low; isRange {
			if high, err = f.value(last); err != nil {
				return 0, false, err
			}
		}
	} else if isRange && strings.Contains(last, "-") {
		return 0, false, fmt.Errorf("it has too many hyphens")
	}
	if stepped {
		if step, err = number(every); err != nil {
			return 0, false, err
		}
		if !isRange {
			high = f.high
		}
		star = star && step <= 1
	}
	if low < f.low || high > f.high || low > high || step == 0 {
		return 0, false, fmt.Errorf("values are from %d to %d, and steps are positive", f.low, f.high)
	}
	for i := low; i <= high; i += min(step, 64) {
		values |= 1 << i
	}
	return values, star, nil
}

func (f field) value(text string) (int, error) {
	if i := strings.Index(f.names, strings.ToLower(text)); i >= 0 && len(text) == 3 && i%3 == 0 {
		return f.low + i/3, nil
	}
	return number(text)
}

func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// next is the first time after t at which the schedule fires, in UTC. It is zero if there is none in five years.
func (s schedule) next(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second).Add(time.Second)
	if t.Second() > 0 {
		t = t.Truncate(time.Minute).Add(time.Minute)
	}
	for limit := t.Year() + 5; t.Year() <= limit; {
		if s.month>>int(t.Month())&1 == 0 {
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if !s.on(t) {
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
			continue
		}
		for hour := t.Hour(); hour < 24; hour++ {
			from := 0
			if hour == t.Hour() {
				from = t.Minute()
			}
			if left := s.minute >> from; s.hour>>hour&1 == 1 && left != 0 {
				return time.Date(t.Year(), t.Month(), t.Day(), hour, from+bits.TrailingZeros64(left), 0, 0, time.UTC)
			}
		}
		t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// on reports whether the schedule fires on the day of t, in any month.
func (s schedule) on(t time.Time) bool {
	day, weekday := s.day>>t.Day()&1 == 1, s.weekday>>int(t.Weekday())&1 == 1
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}
