package template

import (
	"context"
	"fmt"
	"reflect"
	"text/template/parse"
)

// budget is the work that the executions of one Engine may still do.
type budget struct {
	ctx      context.Context
	left     int
	output   int // bytes that may still be rendered
	maxValue int
	calls    int
}

type limitError struct{ msg string }

func (e *limitError) Error() string { return e.msg }

func limitf(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...)}
}

// spend takes n steps off the budget. It looks at the context now and then, because that costs more than a step.
func (b *budget) spend(ctx context.Context, n int) error {
	b.left -= n
	if b.left < 0 {
		return limitf("the templates take too many steps")
	}
	b.calls++
	if b.calls%1024 == 0 && ctx != nil {
		return ctx.Err()
	}
	return nil
}

// write charges for output.
func (b *budget) write(n int) error {
	if b.output -= n; b.output < 0 {
		return limitf("all Applications together are over the limit of %d bytes", maxTotalOutput)
	}
	return nil
}

// tickName is the function that addTick calls. A template may call it too; all it does is cost a step.
const tickName = "argosyTick"

func (b *budget) tick() (string, error) {
	return "", b.spend(b.ctx, 1)
}

// addTick puts a call of the tick function in front of a list of nodes.
func addTick(list *parse.ListNode) {
	id := parse.NewIdentifier(tickName)
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Cmds: []*parse.CommandNode{
		{NodeType: parse.NodeCommand, Args: []parse.Node{id}},
	}}
	tick := &parse.ActionNode{NodeType: parse.NodeAction, Pipe: pipe}
	list.Nodes = append([]parse.Node{tick}, list.Nodes...)
}

// walker adds a tick to every loop of a template and lists the functions it calls.
type walker struct{ functions []string }

// mutating are the functions that change their arguments.
var mutating = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite", "sortAlpha"}

func (w *walker) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe)
		case *parse.IfNode:
			w.branch(&n.BranchNode)
		case *parse.WithNode:
			w.branch(&n.BranchNode)
		case *parse.RangeNode:
			w.branch(&n.BranchNode)
			addTick(n.List)
		case *parse.TemplateNode:
			w.pipe(n.Pipe)
		}
	}
}

func (w *walker) branch(b *parse.BranchNode) {
	w.pipe(b.Pipe)
	w.list(b.List)
	w.list(b.ElseList)
}

func (w *walker) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, cmd := range p.Cmds {
		for _, arg := range cmd.Args {
			switch arg := arg.(type) {
			case *parse.IdentifierNode:
				w.functions = append(w.functions, arg.Ident)
			case *parse.PipeNode:
				w.pipe(arg)
			case *parse.ChainNode:
				if pipe, ok := arg.Node.(*parse.PipeNode); ok {
					w.pipe(pipe)
				}
			}
		}
	}
}

// expensive holds the price, in steps, of functions that are slow by design.
var expensive = map[string]int{"derivePassword": 500_000}

var errorType = reflect.TypeFor[error]()

// wrap wraps a function so that its arguments and its result are charged to the budget and a result that is too large
// ends the execution. Functions whose result can be the product of their arguments are asked for its size first.
func (b *budget) wrap(name string, f reflect.Value) any {
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	product := products[name]
	wrapped := reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic())
	return reflect.MakeFunc(wrapped, func(args []reflect.Value) []reflect.Value {
		failed := func(err error) []reflect.Value {
			return []reflect.Value{reflect.Zero(t.Out(0)), reflect.ValueOf(&err).Elem()}
		}
		size := 0
		for _, a := range args {
			size += weigh(a, b.maxValue-size, 0)
		}
		if size > b.maxValue {
			return failed(limitf("a value is over the limit of %d bytes", b.maxValue))
		}
		work := size
		if product != nil {
			// The bound is far from exact, so it only has to keep the call itself within reason.
			bound := product(args)
			if bound > 16*b.maxValue {
				return failed(limitf("%s would give more than %d bytes", name, b.maxValue))
			}
			work += bound
		}
		if err := b.spend(b.ctx, 1+expensive[name]+work/256); err != nil {
			return failed(err)
		}
		var res []reflect.Value
		if t.IsVariadic() {
			res = f.CallSlice(args)
		} else {
			res = f.Call(args)
		}
		if len(res) == 2 && !res[1].IsNil() {
			return res
		}
		w := weigh(res[0], b.maxValue, 0)
		if w > b.maxValue {
			return failed(limitf("a value is over the limit of %d bytes", b.maxValue))
		}
		if err := b.spend(b.ctx, w/256); err != nil {
			return failed(err)
		}
		return []reflect.Value{res[0], reflect.Zero(errorType)}
	}).Interface()
}

// maxDepth ends the weighing of values that contain themselves.
const maxDepth = 64

// weigh returns the size of a value in bytes, about: 16 for each part of it and the length of strings. It stops above limit, so it is
// cheap for values that share parts of themselves many times over, and it ends for values that contain themselves.
func weigh(v reflect.Value, limit, depth int) int {
	if depth > maxDepth {
		return limit + 1
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len() + 16
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return 16
		}
		return weigh(v.Elem(), limit, depth+1)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len() + 16
		}
		n := 16
		for i := 0; i < v.Len() && n <= limit; i++ {
			n += weigh(v.Index(i), limit-n, depth+1)
		}
		return n
	case reflect.Map:
		n := 16
		for it := v.MapRange(); n <= limit && it.Next(); {
			n += weigh(it.Key(), limit-n, depth+1)
			n += weigh(it.Value(), limit-n, depth+1)
		}
		return n
	default:
		return 16
	}
}
