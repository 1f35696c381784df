// Package triggerurl is the grammar of the URLs of trigger repositories, which argosy repo serves: appset.git, every/10m/team-a.git and
// s3/BUCKET/PATH.git. The server, those who write such URLs and those who recognise them agree by it.
package triggerurl

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/words"
)

// Service is the name of the Service of argosy repo.
const Service = "appset-repo"

// Beginnings of paths.
const (
	// Interval is all of a path: the clock that ticks at the interval of everything without a schedule of its own.
	Interval     = "appset" + suffix
	ClockPrefix  = "every/"
	BucketPrefix = "s3/"

	suffix = ".git"
)

// Intervals outside of these are mistakes.
const (
	minInterval = time.Second
	maxInterval = 366 * 24 * time.Hour
)

// MaxName is the longest name of a clock.
const MaxName = 100

var namePattern = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._-]{0,%d}$`, MaxName-1))

// ErrNone is for a path that is none of a trigger repository. Other errors say what is wrong with one that nearly is.
var ErrNone = errors.New("it is not the path of a trigger repository")

// Path is the path of a trigger repository: the Interval, a clock, or a bucket. The zero Path is the Interval.
type Path struct {
	// Every and Name are the schedule of a clock, and what it is for.
	Every time.Duration
	Name  string
	// Place is the BUCKET/PATH of a bucket.
	Place string
}

// Parse reads a path without a slash at its beginning.
func Parse(path string) (Path, error) {
	if path == Interval {
		return Path{}, nil
	}
	name, ok := strings.CutSuffix(path, suffix)
	if place, found := strings.CutPrefix(name, BucketPrefix); ok && found {
		if bucket, dir, _ := strings.Cut(place, "/"); bucket == "" || strings.Trim(dir, "/") == "" {
			return Path{}, ErrNone
		}
		return Path{Place: place}, nil
	}
	rest, found := strings.CutPrefix(name, ClockPrefix)
	schedule, name, _ := strings.Cut(rest, "/")
	if !ok || !found || !namePattern.MatchString(name) {
		return Path{}, ErrNone
	}
	every, err := time.ParseDuration(schedule)
	if err != nil {
		return Path{}, fmt.Errorf("%q in its path is not a duration; it must be one such as 90s, 10m or 1h30m", words.Shorten(schedule, 40))
	}
	if err := CheckInterval(every); err != nil {
		return Path{}, err
	}
	return Path{Every: every, Name: name}, nil
}

// CheckInterval returns what is wrong with the time between ticks of a clock.
func CheckInterval(d time.Duration) error {
	if d < minInterval || d > maxInterval {
		return fmt.Errorf("the interval must be %s to %s, it is %s", minInterval, maxInterval, d)
	}
	if d%time.Second != 0 {
		return fmt.Errorf("the interval must be whole seconds, it is %s", d)
	}
	return nil
}

func (p Path) String() string {
	switch {
	case p.Place != "":
		return BucketPrefix + p.Place + suffix
	case p.Name != "":
		return ClockPrefix + schedule(p.Every) + "/" + p.Name + suffix
	}
	return Interval
}

// schedule writes a duration as people do: 10m, not 10m0s.
func schedule(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Is reports whether a repository is one that argosy repo serves: by its Service, or by its path.
func Is(repository string) bool {
	u, err := url.Parse(repository)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if service, _, _ := strings.Cut(u.Hostname(), "."); service == Service {
		return true
	}
	_, err = Parse(strings.Trim(u.Path, "/"))
	return err == nil
}
