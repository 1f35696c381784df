package template

import (
	"regexp"
	"strconv"
	"strings"
	"text/template/parse"
)

// call returns the call of a function without or with a number.
func call(name string, args ...int) *parse.CommandNode {
	c := &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(name)}}
	for _, n := range args {
		c.Args = append(c.Args, &parse.NumberNode{NodeType: parse.NodeNumber, IsInt: true, Int64: int64(n), Text: strconv.Itoa(n)})
	}
	return c
}

func action(c *parse.CommandNode) parse.Node {
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{c}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: pipe}
}

// walker changes a template so that its loops and calls count and large values are not printed, and lists the functions that it calls.
type walker struct {
	functions []string
	nests     int // how deep, at most
	// wrapped reports whether a function checks its own result.
	wrapped func(name string) bool
}

// instrument changes a template. A template can call itself, so each call has its price.
func instrument(root *parse.ListNode, wrapped func(string) bool) *walker {
	w := &walker{wrapped: wrapped}
	w.list(root, 1)
	nodes := []parse.Node{action(call(enterName, w.nests))}
	root.Nodes = append(append(nodes, root.Nodes...), action(call(leaveName, w.nests)))
	return w
}

// mutating are the functions that change their arguments.
var mutating = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "sortAlpha"}

func (w *walker) list(l *parse.ListNode, depth int) {
	if l == nil {
		return
	}
	w.nests = max(w.nests, depth)
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe, depth)
			w.printed(n.Pipe)
		case *parse.IfNode:
			w.branch(&n.BranchNode, depth)
		case *parse.WithNode:
			w.branch(&n.BranchNode, depth)
		case *parse.RangeNode:
			w.branch(&n.BranchNode, depth)
			n.List.Nodes = append([]parse.Node{action(call(tickName))}, n.List.Nodes...)
		case *parse.TemplateNode:
			w.pipe(n.Pipe, depth)
		}
	}
}

func (w *walker) branch(b *parse.BranchNode, depth int) {
	w.pipe(b.Pipe, depth)
	w.list(b.List, depth+1)
	w.list(b.ElseList, depth+1)
}

func (w *walker) pipe(p *parse.PipeNode, depth int) {
	if p == nil {
		return
	}
	w.nests = max(w.nests, depth)
	cmds := p.Cmds[:0:0]
	for i, cmd := range p.Cmds {
		if prints(cmd) {
			if i > 0 {
				cmds = append(cmds, call(checkName))
			}
			checkArguments(cmd)
		}
		for _, arg := range cmd.Args {
			switch arg := arg.(type) {
			case *parse.IdentifierNode:
				w.functions = append(w.functions, arg.Ident)
			case *parse.PipeNode:
				w.pipe(arg, depth+1)
			case *parse.ChainNode:
				if pipe, ok := arg.Node.(*parse.PipeNode); ok {
					w.pipe(pipe, depth+1)
				}
			}
		}
		cmds = append(cmds, cmd)
		// A method with arguments, such as Format of a time, can give more than it got.
		if _, function := cmd.Args[0].(*parse.IdentifierNode); !function && (i > 0 || len(cmd.Args) > 1) {
			cmds = append(cmds, call(checkName))
		}
	}
	p.Cmds = cmds
}

// prints reports whether a command calls a function of text/template that prints its arguments, if only in an error.
func prints(cmd *parse.CommandNode) bool {
	id, ok := cmd.Args[0].(*parse.IdentifierNode)
	return ok && (id.Ident == "eq" || id.Ident == "ne")
}

// checkArguments has the arguments of a command checked.
func checkArguments(cmd *parse.CommandNode) {
	for i, arg := range cmd.Args[1:] {
		switch arg := arg.(type) {
		case *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.NilNode:
		case *parse.PipeNode:
			arg.Cmds = append(arg.Cmds, call(checkName))
		default:
			value := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: arg.Position(), Args: []parse.Node{arg}}
			cmd.Args[i+1] = &parse.PipeNode{
				NodeType: parse.NodePipe, Pos: arg.Position(),
				Cmds: []*parse.CommandNode{value, call(checkName)},
			}
		}
	}
}

var (
	checkedArgument = regexp.MustCompile(`\(([^()|]*) \| ` + checkName + `\)`)
	checkedPipe     = regexp.MustCompile(` \| ` + checkName)
)

// AsWritten removes the instrumentation of templates from an error.
func AsWritten(message string) string {
	return checkedPipe.ReplaceAllString(checkedArgument.ReplaceAllString(message, "$1"), "")
}

// printed has the result of an action checked, if it is printed and was not checked before.
func (w *walker) printed(p *parse.PipeNode) {
	if len(p.Decl) > 0 {
		return
	}
	last := p.Cmds[len(p.Cmds)-1]
	if id, ok := last.Args[0].(*parse.IdentifierNode); ok && (id.Ident == checkName || w.wrapped(id.Ident)) {
		return
	}
	p.Cmds = append(p.Cmds, call(checkName))
}

// controlWord finds control structures, and perhaps more: text that looks like one.
var controlWord = regexp.MustCompile(`\{\{-?[ \t\r\n]*(?:if|range|with|define|block|else)`)

// checkText refuses a text that the parser would take too much stack or memory for, and returns the number of its placeholders.
func checkText(s string, most int) (int, error) {
	n := strings.Count(s, "{{")
	if len(s) > maxText {
		return n, limitf("a template of %d bytes is over the limit of %d", len(s), maxText)
	}
	if n > most {
		return n, limitf("there are more than %d placeholders", maxActions)
	}
	if n > maxControls && len(controlWord.FindAllStringIndex(s, maxControls+1)) > maxControls {
		return n, limitf("there are more than %d control structures, such as if and range", maxControls)
	}
	return n, nil
}
