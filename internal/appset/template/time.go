package template

import (
	"errors"
	gotemplate "text/template"
	"time"
)

// fixTime replaces the functions of sprig that look at the clock, or at the time zone of the machine, by ones that
// give the same answer everywhere: that of a machine in UTC, as Argo CD's containers are.
func fixTime(funcs gotemplate.FuncMap) {
	inZone := funcs["dateInZone"].(func(string, any, string) string)
	round := funcs["durationRound"].(func(any) string)
	funcs["dateInZone"] = func(layout string, date any, zone string) (string, error) {
		if !isTime(date) {
			return "", errNoTime
		}
		return inZone(layout, date, zone), nil
	}
	funcs["date_in_zone"] = funcs["dateInZone"]
	funcs["date"] = func(layout string, date any) (string, error) {
		if !isTime(date) {
			return "", errNoTime
		}
		return inZone(layout, date, "UTC"), nil
	}
	funcs["htmlDate"] = func(date any) (string, error) {
		if !isTime(date) {
			return "", errNoTime
		}
		return inZone("2006-01-02", date, "UTC"), nil
	}
	funcs["htmlDateInZone"] = func(date any, zone string) (string, error) {
		if !isTime(date) {
			return "", errNoTime
		}
		return inZone("2006-01-02", date, zone), nil
	}
	funcs["toDate"] = func(layout, s string) time.Time {
		t, _ := time.ParseInLocation(layout, s, time.UTC)
		return t
	}
	funcs["mustToDate"] = func(layout, s string) (time.Time, error) {
		return time.ParseInLocation(layout, s, time.UTC)
	}
	funcs["durationRound"] = func(v any) (string, error) {
		if _, ok := v.(time.Time); ok {
			return "", errors.New("it counts from a time until now, so the Applications would never be in sync")
		}
		return round(v), nil
	}
}

var errNoTime = errors.New("the date must be a time, for example from toDate; anything else is taken for the current time")

func isTime(v any) bool {
	switch v.(type) {
	case time.Time, *time.Time, int64, int, int32:
		return true
	}
	return false
}
