package template

import (
	"context"
	"fmt"
	"reflect"
	gotemplate "text/template"
)

// Limits of all templates. Config has those that a caller can set.
const (
	// stepsPerRender lets a set with many Applications take its time, but not one Application.
	stepsPerRender = 2_000
	// maxTotalOutput bounds the output of all renderings of an Engine. Argo CD accepts 100 MB from a plugin.
	maxTotalOutput = 100 << 20
	// maxMade bounds the values that functions make during one rendering, because variables can keep all of them.
	maxMade = 64 << 20
	// maxActions bounds the placeholders of all templates of an Engine: each is some kilobytes when it is compiled.
	maxActions = 100_000
	// maxText bounds one template.
	maxText = 1 << 20
	// maxControls bounds if, range, with, define, block and else in one text: the parser calls itself for each that is inside another.
	maxControls = 10_000
	// maxNesting bounds templates, control structures and parentheses inside each other while a template runs. Each takes stack, and Go
	// cannot recover from a stack that is too large.
	maxNesting = 1_000
	// maxPattern bounds the instructions of a regular expression, which "x{1000}" has a thousand of.
	maxPattern = 20_000
	// maxPath bounds the path of a field in messages: every field has one.
	maxPath, maxKey = 500, 100
	// maxMessage bounds an error, which can have a value in it, and maxErrors those of one rendering.
	maxMessage, maxErrors = 600, 100
)

// budget is the work that the executions of one Engine may still do.
type budget struct {
	ctx     context.Context
	left    int
	output  int // bytes that may still be rendered
	made    int // bytes that functions may still make
	nesting int // active nesting
	calls   int
	// maxValue bounds one value, maxBound what a call may allocate; maxMade and maxOutput are for messages.
	maxValue, maxBound, maxMade, maxOutput int
	shallow                                map[string]bool // functions that do not look into their arguments; nil is none
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
	if (b.calls%1024 == 0 || n > 1000) && ctx != nil {
		return ctx.Err()
	}
	return nil
}

// write charges for output.
func (b *budget) write(n int) error {
	if b.output -= n; b.output < 0 {
		return limitf("all output together is over the limit of %d bytes", b.maxOutput)
	}
	return nil
}

// make charges for a value.
func (b *budget) make(n int) error {
	if b.made -= n; b.made < 0 {
		return limitf("the values that functions make are over the limit of %d bytes", b.maxMade)
	}
	return b.spend(b.ctx, n/256)
}

// The functions that templates are made to call. A template may call them, too; all they do is cost, or fail.
const (
	tickName  = "argosyTick"
	enterName = "argosyEnter"
	leaveName = "argosyLeave"
	checkName = "argosyCheck"
)

// functions are the functions that are added to templates.
func (b *budget) functions() gotemplate.FuncMap {
	return gotemplate.FuncMap{tickName: b.tick, enterName: b.enter, leaveName: b.leave, checkName: b.check}
}

func (b *budget) tick() (string, error) {
	return "", b.spend(b.ctx, 1)
}

// enter is called where a template begins, with how deep it nests.
func (b *budget) enter(nests int) (string, error) {
	if nests < 1 {
		nests = 1
	}
	if b.nesting += nests; b.nesting > maxNesting {
		return "", limitf("templates, control structures and parentheses are nested deeper than %d", maxNesting)
	}
	return "", b.spend(b.ctx, 1)
}

// leave is called where it ends.
func (b *budget) leave(nests int) string {
	b.nesting = max(0, b.nesting-nests)
	return ""
}

// check passes on a value that is about to be printed, or that a method gave, unless it is too large. fmt would write all of it to memory,
// and does not return from one that contains itself.
//
// It passes on reflect.Values, because some types print differently where they have no address.
func (b *budget) check(v reflect.Value) (reflect.Value, error) {
	size := weigh(v, b.maxValue, 0)
	if size > b.maxValue {
		return v, limitf("a value is over the limit of %d bytes", b.maxValue)
	}
	return v, b.spend(b.ctx, 1+size/256)
}

// expensive holds the price, in steps, of functions that are slow by design.
var expensive = map[string]int{
	"derivePassword": 500_000, "bcrypt": 200_000, "htpasswd": 200_000, "genPrivateKey": 400_000, "genCA": 200_000, "genCAWithKey": 100_000,
	"genSelfSignedCert": 200_000, "genSelfSignedCertWithKey": 100_000, "genSignedCert": 200_000, "genSignedCertWithKey": 100_000,
}

// slow are the functions whose work is more than a pass over their arguments, and how much more. Parsers take their time.
var slow = map[string]int{
	"fromYaml": 32, "fromYamlArray": 32, "toYaml": 16, "mustToYaml": 16, "toYamlPretty": 16, "fromJson": 4,
	"mustFromJson": 4, "fromJsonArray": 4, "fromToml": 32, "toToml": 16,
}

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
			size += b.weigh(name, a, b.maxValue-size)
		}
		if size > b.maxValue {
			return failed(limitf("a value is over the limit of %d bytes", b.maxValue))
		}
		work := size
		if product != nil {
			// The bound is far from exact, so it only has to keep the call itself within reason.
			bound := product(args)
			if bound > b.maxBound {
				return failed(limitf("%s would give more than %d bytes", name, b.maxValue))
			}
			work += bound
		}
		if err := b.spend(b.ctx, 1+expensive[name]+work/256*max(1, slow[name])); err != nil {
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
		w := b.weigh(name, res[0], b.maxValue)
		if w > b.maxValue {
			return failed(limitf("a value is over the limit of %d bytes", b.maxValue))
		}
		if err := b.make(w); err != nil {
			return failed(err)
		}
		return []reflect.Value{res[0], reflect.Zero(errorType)}
	}).Interface()
}

// weigh returns the size of an argument or of the result of a function.
func (b *budget) weigh(name string, v reflect.Value, limit int) int {
	if !b.shallow[name] {
		return weigh(v, limit, 0)
	}
	switch v = plain(v); v.Kind() {
	case reflect.String:
		return v.Len() + 16
	case reflect.Slice, reflect.Map:
		return 16 * (v.Len() + 1)
	}
	return 16
}

// maxDepth ends the weighing of values that contain themselves.
const maxDepth = 400

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
