package health

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Limits of one step of a script. A script is stopped between two steps, so a step must not take all memory. The time of a search is not
// bounded: a pattern such as a*a*a*a*b tries every way to divide the text.
const (
	maxString = 16 << 20 // bytes that a function of a library gives
	// maxSearched bounds a text in which a pattern is searched, and the pattern: the search goes as deep as both are long.
	maxSearched = 256 << 10
	// maxCopied bounds what gsub copies: all of the text for each place that it replaces.
	maxCopied     = 1 << 30
	maxCoroutines = 200
)

// bound returns the largest result that a call can have, in bytes.
type bound func(l *lua.LState) int

// boundLibrary puts bounds in front of functions of a library.
func boundLibrary(l *lua.LState, library string, bounds map[string]bound) {
	table, ok := l.GetGlobal(library).(*lua.LTable)
	if !ok {
		return
	}
	for name, bound := range bounds {
		f, ok := table.RawGetString(name).(*lua.LFunction)
		if !ok || f.GFunction == nil {
			continue
		}
		call := f.GFunction
		limited := l.NewFunction(func(l *lua.LState) int {
			if bound(l) > maxString {
				l.RaiseError("%s.%s: the result is too large", library, name)
			}
			return call(l)
		})
		limited.Upvalues = f.Upvalues
		table.RawSetString(name, limited)
	}
}

var stringBounds = map[string]bound{
	"rep":    func(l *lua.LState) int { return times(len(l.CheckString(1)), l.CheckInt(2)) },
	"format": formatBound,
	"gsub":   searched(gsubBound),
	"gmatch": searched(func(l *lua.LState) int { return times(256, len(l.CheckString(1))) }), // all matches at once
	"match":  searched(nothing),
	"find": func(l *lua.LState) int {
		if lua.LVAsBool(l.Get(4)) {
			return 0 // no pattern
		}
		return searched(nothing)(l)
	},
}

func nothing(*lua.LState) int { return 0 }

// searched is a bound of a function that searches for a pattern.
func searched(b bound) bound {
	return func(l *lua.LState) int {
		size := b(l)
		if size <= maxString && len(l.CheckString(1))+len(l.CheckString(2)) > maxSearched {
			l.RaiseError("the text is too large to search for a pattern")
		}
		return size
	}
}

var tableBounds = map[string]bound{
	"concat": func(l *lua.LState) int {
		sum, separator := 0, len(l.OptString(2, ""))
		table := l.CheckTable(1)
		for i := 1; i <= table.Len() && sum <= maxString; i++ {
			sum += separator + len(table.RawGetInt(i).String())
		}
		return sum
	},
}

// coroutineBounds bound the coroutines of one script. One inside another takes stack, and takes long to end.
func coroutineBounds() map[string]bound {
	made := 0
	count := func(*lua.LState) int {
		if made++; made > maxCoroutines {
			return maxString + 1
		}
		return 0
	}
	return map[string]bound{"create": count, "wrap": count}
}

// times multiplies without overflow.
func times(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > maxCopied/b {
		return maxCopied
	}
	return a * b
}

// formatBound: each verb may print the largest argument, padded to the largest width, which Go bounds at a million.
func formatBound(l *lua.LState) int {
	format, largest := l.CheckString(1), 64
	for i := 2; i <= l.GetTop(); i++ {
		largest = max(largest, 4*len(l.Get(i).String()))
	}
	run := 0
	for _, c := range format {
		if c < '0' || c > '9' {
			run = 0
			continue
		}
		run = min(run*10+int(c-'0'), 1_000_000)
		largest = max(largest, run)
	}
	if strings.Contains(format, "*") {
		largest = max(largest, 1_000_000)
	}
	return len(format) + times(strings.Count(format, "%"), largest)
}

// counted is a function whose results are bounded together.
func counted(f *lua.LFunction) lua.LGFunction {
	sum := 0
	return func(l *lua.LState) int {
		args := l.GetTop()
		l.Insert(f, 1)
		l.Call(args, 1)
		if sum += len(l.Get(-1).String()); sum > maxString {
			l.RaiseError("string.gsub: the result is too large")
		}
		return 1
	}
}

// gsubBound: every place can be replaced by the longest text. The library copies everything for each.
func gsubBound(l *lua.LState) int {
	text, longest := l.CheckString(1), 0
	switch with := l.Get(3).(type) {
	case lua.LString:
		// %1 stands for a part of the text.
		longest = len(with) + times(strings.Count(string(with), "%"), len(text))
	case *lua.LTable:
		with.ForEach(func(_, v lua.LValue) { longest = max(longest, len(v.String())) })
	case *lua.LFunction:
		l.Replace(3, l.NewFunction(counted(with)))
	}
	if times(len(text)+1, len(text)+1) == maxCopied {
		return maxString + 1
	}
	return times(len(text)+1, longest)
}
