package health

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/argosy-cd/argosy/internal/hostile"
)

// TestHostile has scripts that take all memory in one step, or files.
func TestHostile(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "x.lua")
	if err := exec.CommandContext(t.Context(), "mkfifo", fifo).Run(); err != nil {
		t.Fatal(err)
	}
	const half = `local s = string.rep("x", 8000000); `
	for name, c := range map[string]struct{ script, want string }{
		"require of a pipe":    {fmt.Sprintf(`package.path = %q; require("x")`, fifo), "module x not found"},
		"require with loaders": {fmt.Sprintf(`package.path = %q; package.loaders[2]("x")`, fifo), "attempt to call a non-function object"},
		"a module of a pipe":   {fmt.Sprintf(`package.path = %q; module("y", package.seeall); require("x")`, fifo), ""},
		"format":               {`return string.format(string.rep("%[1]999999d", 100000), 1)`, "string.format: the result is too large"},
		"format of a method":   {`return (string.rep("%[1]999999d", 100000)):format(1)`, "string.format: the result is too large"},
		"format, star": {
			`return string.format(string.rep("%[1]*[2]d", 100000), 999999, 1)`,
			"string.format: the result is too large",
		},
		"format of a text":    {half + `return string.format(string.rep("%[1]s", 1000), s)`, "string.format: the result is too large"},
		"gsub":                {half + `return string.gsub(s, "x", s)`, "string.gsub: the result is too large"},
		"gsub, empty pattern": {half + `return string.gsub("xxxxx", "", s)`, "string.gsub: the result is too large"},
		"gsub, captures": {
			`local s = string.rep("x", 30000); return string.gsub(s, ".", string.rep("%0", 10000))`,
			"string.gsub: the result is too large",
		},
		"gsub, table": {
			half + `return string.gsub(string.rep("x", 30000), ".", {x = s})`,
			"string.gsub: the result is too large",
		},
		"gsub, function": {
			half + `return string.gsub(string.rep("x", 30000), ".", function() return s end)`,
			"string.gsub: the result is too large",
		},
		"gsub, many places": {half + `return string.gsub(s, "x", "y")`, "string.gsub: the result is too large"},
		"a search for ever": {
			`return string.find(string.rep("a", 200), string.rep("a*", 20) .. "b")`,
			"it ran for 1s, which is the limit",
		},
		"captures for ever": {
			`return string.match(string.rep("a", 90000), "^" .. string.rep("(a*)", 30) .. "b")`,
			"it ran for 1s, which is the limit",
		},
		"a deep search":  {half + `return string.find(s, "x*y")`, "the text is too large to search for a pattern"},
		"a deep pattern": {`return string.match("x", string.rep("x?", 500000))`, "the text is too large to search for a pattern"},
		"gmatch":         {half + `for x in string.gmatch(s, ".") do end`, "string.gmatch: the result is too large"},
		"rep":            {`return string.rep("xxxxxxxx", 1e9)`, "string.rep: the result is too large"},
		"concat": {
			half + `local t = {}; for i = 1, 1000 do t[i] = s end; return table.concat(t)`,
			"table.concat: the result is too large",
		},
		"concat of separators": {
			half + `local t = {}; for i = 1, 1000 do t[i] = "" end; return table.concat(t, s)`,
			"table.concat: the result is too large",
		},
		"a loop that doubles":   {`local s = "0123456789"; while true do s = s .. s end`, "it "},
		"a table that grows":    {`local t = {}; while true do t[#t + 1] = {} end`, "it "},
		"a coroutine for ever":  {`local function f() coroutine.wrap(f)() end; f()`, "coroutine.wrap: the result is too large"},
		"a stack of tables":     {`local t = {}; for i = 1, 1000000 do t = {t} end; return t`, ""},
		"a table in itself":     {`local t = {}; t.message = t; return t`, ""},
		"registers on the side": {`_printregs()`, "attempt to call a non-function object"},
	} {
		t.Run(name, func(t *testing.T) {
			run := func() error {
				_, err := Lua(Script{c.script, true}, object(t, "{apiVersion: v1, kind: X}"), Limits{})
				return err
			}
			if c.want == "" {
				hostile.Survived(t, func() { _ = run() })
				return
			}
			hostile.Refused(t, c.want, run)
		})
	}
}
