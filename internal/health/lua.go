package health

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Limits bound a script and configure its environment. The zero Limits are one second, as in Argo CD, and 256 MiB.
type Limits struct {
	Time   time.Duration
	Memory uint64
	// Now is the clock of scripts. Nil is a fixed time long ago.
	Now func() time.Time
	// Version is the version of Argo CD that decides the built-in checks. Zero is the newest.
	Version versions.Version
}

// Script is a health check.
type Script struct {
	Health string
	// OpenLibs gives it the string, math and coroutine libraries, too. Files and processes it never has.
	OpenLibs bool
}

// errLimit says that a script was stopped.
var errLimit = errors.New("limit")

// grace is how long a script may take to end after it was stopped.
const grace = 100 * time.Millisecond

// Lua runs a script on an object, and reads its result as Argo CD does: a script that returns nothing gives no status, an unknown word
// gives Unknown. A script is stopped between two steps. A script in a long step, the search for a pattern, cannot be stopped: it runs on in
// the background.
func Lua(s Script, o manifest.Object, limits Limits) (Health, error) {
	if limits.Time == 0 {
		limits.Time = time.Second
	}
	if limits.Memory == 0 {
		limits.Memory = 256 << 20
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	timer := time.AfterFunc(limits.Time, func() { stop(fmt.Errorf("it ran for %s, which is the %w", limits.Time, errLimit)) })
	defer timer.Stop()
	go watch(ctx, limits.Memory, stop)
	type answer struct {
		Health
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		h, err := run(ctx, s, o, limits.Now)
		answers <- answer{h, err}
	}()
	select {
	case a := <-answers:
		return a.Health, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-answers:
		return a.Health, a.err
	case <-time.After(grace):
		return Health{}, context.Cause(ctx)
	}
}

// run runs a script until the context ends.
func run(ctx context.Context, s Script, o manifest.Object, now func() time.Time) (Health, error) {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 20, CallStackSize: 200})
	defer l.Close()
	l.SetContext(ctx)
	if err := open(l, s.OpenLibs, now); err != nil {
		return Health{}, err
	}
	l.SetGlobal("actionParams", l.NewTable())
	l.SetGlobal("obj", value(l, o))
	if err := l.DoString(s.Health); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errLimit) {
			return Health{}, cause
		}
		return Health{}, errors.New(message(err))
	}
	return result(l.Get(-1))
}

// compile reports whether the script is Lua, without running it.
func (s Script) compile() error {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	if _, err := l.LoadString(s.Health); err != nil {
		return errors.New(message(err))
	}
	return nil
}

// watch stops a script that takes too much memory. One statement can double the memory, so this is not exact.
func watch(ctx context.Context, most uint64, stop func(error)) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if now := sample[0].Value.Uint64(); now > before+most {
			stop(fmt.Errorf("it takes more than %d MiB of memory, which is the %w", most>>20, errLimit))
			return
		}
	}
}

// maxMessage bounds an error of a script.
const maxMessage = 600

// message is an error of Lua without its stack.
func message(err error) string {
	var api *lua.ApiError
	if errors.As(err, &api) && api.Type == lua.ApiErrorRun {
		return words.OneLine(api.Object.String(), maxMessage)
	}
	return words.OneLine(err.Error(), maxMessage)
}

// open gives a script the libraries that Argo CD gives it: base, table, package, and a part of os, which it finds in table and by
// require, not as os.
func open(l *lua.LState, more bool, now func() time.Time) error {
	libraries := []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}}
	if more {
		libraries = append(libraries, []struct {
			name string
			open lua.LGFunction
		}{{lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath}, {lua.CoroutineLibName, lua.OpenCoroutine}}...)
	}
	for _, lib := range libraries {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(lib.open), NRet: 0, Protect: true}, lua.LString(lib.name)); err != nil {
			return err
		}
	}
	clock := map[string]lua.LGFunction{"time": osTime(now), "date": osDate(now)}
	l.RegisterModule(lua.TabLibName, clock)
	l.PreloadModule(lua.OsLibName, func(l *lua.LState) int { l.Push(l.SetFuncs(l.NewTable(), clock)); return 1 })
	if more {
		l.SetGlobal(lua.OsLibName, l.SetFuncs(l.NewTable(), clock))
		boundLibrary(l, lua.StringLibName, stringBounds)
		boundLibrary(l, lua.CoroutineLibName, coroutineBounds())
	}
	boundLibrary(l, lua.TabLibName, tableBounds)
	// A script must not read files, and must not print to our output.
	for _, name := range []string{"dofile", "loadfile", "_printregs"} {
		l.SetGlobal(name, lua.LNil)
	}
	l.SetGlobal("print", l.NewFunction(func(*lua.LState) int { return 0 }))
	if p, ok := l.GetGlobal("package").(*lua.LTable); ok {
		p.RawSetString("path", lua.LString(""))
		p.RawSetString("cpath", lua.LString(""))
		// The first loader knows the modules that are given; the second one reads files, of whatever package.path a script has set.
		if loaders, ok := p.RawGetString("loaders").(*lua.LTable); ok {
			loaders.RawSetInt(2, lua.LNil)
		}
	}
	return nil
}

func osTime(now func() time.Time) lua.LGFunction {
	return func(l *lua.LState) int {
		if l.GetTop() == 0 {
			l.Push(lua.LNumber(clockOf(now).Unix()))
			return 1
		}
		t := l.CheckTable(1)
		field := func(name string, missing int) int {
			if n, ok := t.RawGetString(name).(lua.LNumber); ok {
				return int(n)
			}
			return missing
		}
		date := time.Date(field("year", -1), time.Month(field("month", -1)), field("day", -1), field("hour", 12), field("min", 0),
			field("sec", 0), 0, time.UTC) // the zone of Argo CD's image
		l.Push(lua.LNumber(date.Unix()))
		return 1
	}
}

func osDate(now func() time.Time) lua.LGFunction {
	return func(l *lua.LState) int {
		t := clockOf(now).UTC()
		format := "%c"
		if l.GetTop() >= 1 {
			format = l.CheckString(1)
		}
		if l.GetTop() >= 2 {
			t = time.Unix(l.CheckInt64(2), 0).UTC()
		}
		format = strings.TrimPrefix(format, "!")
		if strings.HasPrefix(format, "*t") {
			table := l.NewTable()
			for name, n := range map[string]int{
				"year": t.Year(), "month": int(t.Month()), "day": t.Day(), "hour": t.Hour(),
				"min": t.Minute(), "sec": t.Second(), "wday": int(t.Weekday()) + 1,
			} {
				table.RawSetString(name, lua.LNumber(n))
			}
			l.Push(table)
			return 1
		}
		l.Push(lua.LString(strftime(t, format)))
		return 1
	}
}

func strftime(t time.Time, format string) string {
	layouts := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'c': "02 Jan 06 15:04 MST", 'd': "02", 'F': "2006-01-02", 'H': "15",
		'I': "03", 'm': "01", 'M': "04", 'p': "PM",
		'Q': ".000", 'S': "05", 'x': "15/04/05", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if layout, ok := layouts[format[i]]; ok {
			b.WriteString(t.Format(layout))
		} else if format[i] == '%' {
			b.WriteByte('%')
		} else {
			b.WriteString(format[i-1 : i+1])
		}
	}
	return b.String()
}

func clockOf(now func() time.Time) time.Time {
	if now == nil {
		return time.Unix(0, 0)
	}
	return now()
}

// value is a decoded value for Lua.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, e := range v {
			t.Append(value(l, e))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for k, e := range v {
			t.RawSetH(lua.LString(k), value(l, e))
		}
		return t
	default:
		return lua.LNil
	}
}

// result reads what a script returns, as Argo CD does by way of JSON.
func result(v lua.LValue) (Health, error) {
	if v.Type() == lua.LTNil {
		return Health{}, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("it must return a table, it returns a %s", v.Type())
	}
	h, wrong, err := fields(t)
	switch {
	case err != nil:
		return Health{}, err
	case wrong:
		return Health{}, nil
	case !slices.Contains([]Status{Healthy, Suspended, Progressing, Missing, Degraded, Unknown}, h.Status):
		return Health{Status: Unknown, Message: fmt.Sprintf("the script returns the status %q, which Argo CD does not know", h.Status)}, nil
	}
	return h, nil
}

// fields takes status and message from a table. Wrong says that they, or the table, have another type, which Argo CD treats as no result.
func fields(t *lua.LTable) (h Health, wrong bool, err error) {
	first := lua.LNil
	t.ForEach(func(k, v lua.LValue) {
		if first.Type() == lua.LTNil {
			first = k
		}
		switch {
		case k.Type() != first.Type() || k.Type() != lua.LTString && k.Type() != lua.LTNumber:
			err = errors.New("the table that it returns has keys of several types")
		case v.Type() == lua.LTFunction || v.Type() == lua.LTUserData:
			err = fmt.Errorf("the table that it returns has a %s in it", v.Type())
		case v.Type() == lua.LTNumber && (math.IsNaN(float64(v.(lua.LNumber))) || math.IsInf(float64(v.(lua.LNumber)), 0)):
			err = errors.New("the returned table contains NaN or infinity")
		}
		for name, to := range map[string]*string{"status": (*string)(&h.Status), "message": &h.Message} {
			if text, ok := v.(lua.LString); strings.EqualFold(k.String(), name) && ok {
				*to = string(text)
			} else if strings.EqualFold(k.String(), name) {
				wrong = true
			}
		}
	})
	return h, wrong || first.Type() != lua.LTString, err
}
