package archtest

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// Public are the packages that others are meant to use. A "x/..." stands for x, too.
var Public = []string{"algo/...", "bench", "cluster/...", "command", "explore", "fd", "fence", "secure", "sim", "trace", "transport", "web"}

func isPublic(path string) bool {
	name, ours := within(path)
	return ours && (matchesAny(Public, name) || matchesAny(Public, name+"/...")) && !strings.HasSuffix(name, "_test")
}

func isInternal(p *types.Package) bool {
	return p != nil && strings.HasPrefix(p.Path(), Module+"/internal/")
}

// shown is an exported name, and where it is declared.
type shown struct {
	types.Object
	in *Typed
}

// public returns the exported names of public packages, tests aside.
func public(packages []*Typed) (all []shown) {
	for _, p := range packages {
		if !isPublic(p.Path) {
			continue
		}
		for _, name := range p.Types.Scope().Names() {
			if object := p.Types.Scope().Lookup(name); object.Exported() && !p.inTest(object.Pos()) {
				all = append(all, shown{object, p})
			}
		}
	}
	return all
}

// called is an object as complaints call it.
func called(o types.Object) string {
	name, _ := within(o.Pkg().Path())
	return name + "." + o.Name()
}

// CheckAPI returns which exported names of public packages show a type of an internal one,
// which others cannot name, or are a variable of one, which others cannot look up.
func CheckAPI(packages []*Typed) []string {
	var wrong []string
	for _, object := range public(packages) {
		var hidden []string
		w := walker{of: object.Pkg(), seen: make(map[types.Type]bool), each: func(t *types.TypeName) {
			if isInternal(t.Pkg()) && !slices.Contains(hidden, called(t)) {
				hidden = append(hidden, called(t))
			}
		}}
		w.object(object.Object)
		for _, h := range append(hidden, object.borrowed()...) {
			wrong = append(wrong, called(object)+" shows "+h)
		}
	}
	return wrong
}

// borrowed returns the variables of internal packages that one is set to: an error, say.
func (s shown) borrowed() (all []string) {
	inside := func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := s.in.Info.Uses[id].(*types.Var); ok && isInternal(v.Pkg()) && !v.IsField() {
				all = append(all, called(v))
			}
		}
		return true
	}
	for _, file := range s.in.Files {
		for _, declaration := range file.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(id *ast.Ident) bool { return id.Pos() == s.Pos() }) {
						ast.Inspect(v, inside)
					}
				}
			}
		}
	}
	return all
}

// CheckUse returns the exported names of public packages, and the methods of their types,
// that nothing needs: no other package, no example, no interface that the type implements,
// and nothing that is needed and shows the type.
func CheckUse(packages []*Typed) []string {
	u := usage{used: make(map[string]bool), seen: make(map[*types.Package]bool)}
	u.interfaces = append(u.interfaces, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
	for _, p := range packages {
		u.read(p)
	}
	objects := public(packages)
	for before := -1; before < len(u.used); {
		before = len(u.used)
		for _, object := range objects {
			if u.used[key(object.Object)] {
				u.follow(object.Object)
			}
		}
	}
	var wrong []string
	for _, object := range objects {
		if !u.used[key(object.Object)] && !handed(object.Object) {
			wrong = append(wrong, called(object)+" is used by no other package and in no example")
			continue
		}
		for m := range object.methods() {
			if !u.used[key(m)] && !u.implements(object.Type(), m.Name()) {
				wrong = append(wrong, called(object)+"."+m.Name()+" is called by no other package and in no example")
			}
		}
	}
	return wrong
}

// handed reports whether a type is one that a Spec or a Factory hands to its host as an
// interface: a message of an algorithm, or its options.
func handed(object types.Object) bool {
	t, ok := object.(*types.TypeName)
	if name, _ := within(object.Pkg().Path()); !ok || !strings.HasPrefix(name, "algo/") {
		return false
	}
	kind, _, _ := types.LookupFieldOrMethod(t.Type(), false, nil, "Kind")
	return kind != nil || t.Name() == "Options"
}

// usage is what is needed, by key: a package that is built again for a test has objects of its own.
type usage struct {
	used       map[string]bool
	seen       map[*types.Package]bool
	interfaces []*types.Interface
}

func key(o types.Object) string {
	if f, ok := o.(*types.Func); ok {
		return f.Origin().FullName()
	}
	if o.Parent() != o.Pkg().Scope() {
		return "" // a field, or local
	}
	return o.Pkg().Path() + "." + o.Name()
}

// read takes in what a package uses of others; of its own, what its examples do: functions
// named so, and all of a file example_test.go.
func (u *usage) read(p *Typed) {
	for _, file := range p.Files {
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			example := ok && strings.HasPrefix(f.Name.Name, "Example") && p.inTest(f.Pos()) ||
				filepath.Base(p.fset.Position(file.Pos()).Filename) == "example_test.go"
			ast.Inspect(declaration, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok {
					u.embed(p, s)
				}
				if id, ok := n.(*ast.Ident); ok {
					if o := p.Info.Uses[id]; o != nil && o.Pkg() != nil && (example || o.Pkg().Path() != strings.TrimSuffix(p.Path, "_test")) {
						u.used[key(o)] = true
					}
				}
				return true
			})
		}
	}
	u.see(p.Types)
}

// embed marks the methods of what a struct of another package embeds: it has them.
func (u *usage) embed(p *Typed, s *ast.StructType) {
	for _, field := range s.Fields.List {
		if len(field.Names) > 0 {
			continue
		}
		ast.Inspect(field.Type, func(n ast.Node) bool {
			id, _ := n.(*ast.Ident)
			t, ok := p.Info.Uses[id].(*types.TypeName)
			if ok && t.Pkg() != nil && t.Pkg().Path() != strings.TrimSuffix(p.Path, "_test") {
				if named, ok := t.Type().(*types.Named); ok {
					for m := range named.Methods() {
						u.used[key(m)] = true
					}
				}
			}
			return true
		})
	}
}

// see takes in the interfaces of a package and of all that it reaches.
func (u *usage) see(from *types.Package) {
	if !u.seen[from] {
		u.seen[from] = true
		for _, imported := range from.Imports() {
			u.see(imported)
		}
		for _, name := range from.Scope().Names() {
			object := from.Scope().Lookup(name)
			if s, ok := object.Type().(*types.Signature); ok {
				for p := range s.TypeParams().TypeParams() {
					u.wants(p.Constraint())
				}
			} else if _, ok := object.(*types.TypeName); ok {
				u.wants(object.Type())
			}
		}
	}
}

func (u *usage) wants(t types.Type) {
	if i, ok := t.Underlying().(*types.Interface); ok && i.NumMethods() > 0 {
		u.interfaces = append(u.interfaces, i)
	}
}

// follow marks what a needed name shows: types, and with one constant the others of its
// type.
func (u *usage) follow(object types.Object) {
	w := walker{of: object.Pkg(), seen: make(map[types.Type]bool), each: func(t *types.TypeName) { u.used[key(t)] = true }}
	w.object(object)
	if c, ok := object.(*types.Const); ok {
		for _, name := range object.Pkg().Scope().Names() {
			if o, ok := object.Pkg().Scope().Lookup(name).(*types.Const); ok && o.Type() == c.Type() && !isBasic(c.Type()) {
				u.used[key(o)] = true
			}
		}
	}
}

func isBasic(t types.Type) bool {
	_, basic := t.(*types.Basic)
	return basic
}

// implements reports whether a method is there for an interface, or for package errors.
func (u *usage) implements(t types.Type, method string) bool {
	has := types.NewMethodSet(types.NewPointer(t))
	return method == "Unwrap" || method == "Is" || method == "As" || slices.ContainsFunc(u.interfaces, func(i *types.Interface) bool {
		wanted := false
		for m := range i.Methods() {
			// By its text: what it names may be of a package that was built again for a test.
			found := has.Lookup(m.Pkg(), m.Name())
			if found == nil || text(found.Type()) != text(m.Type()) {
				return false
			}
			wanted = wanted || m.Name() == method
		}
		return wanted
	})
}

// text is the type of a method without the names of its parameters.
func text(method types.Type) string {
	var all []string
	s := method.(*types.Signature)
	for _, list := range []*types.Tuple{s.Params(), s.Results()} {
		for v := range list.Variables() {
			all = append(all, v.Type().String())
		}
		all = append(all, "")
	}
	return strings.Join(all, ",")
}

// methods iterates over the exported methods of a type, tests aside.
func (s shown) methods() func(yield func(*types.Func) bool) {
	return func(yield func(*types.Func) bool) {
		t, ok := s.Type().(*types.Named)
		if _, isType := s.Object.(*types.TypeName); !ok || !isType {
			return
		}
		for m := range t.Methods() {
			if m.Exported() && !s.in.inTest(m.Pos()) && !yield(m) {
				return
			}
		}
	}
}

// walker visits the names of all types that something shows to other packages.
type walker struct {
	of   *types.Package
	seen map[types.Type]bool
	each func(*types.TypeName)
}

func (w *walker) object(o types.Object) {
	if _, ok := o.(*types.TypeName); ok {
		w.declared(o.Type())
	} else {
		w.visit(o.Type())
	}
}

// declared visits a type of the package itself: what it consists of, and its methods.
func (w *walker) declared(t types.Type) {
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		w.visit(t.Rhs())
	case *types.Named:
		w.parameters(t.TypeParams())
		w.visit(t.Underlying())
		for m := range t.Methods() {
			if m.Exported() {
				w.visit(m.Type())
			}
		}
	}
}

func (w *walker) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		w.named(t, t.Obj(), t.TypeArgs())
	case *types.Named:
		w.named(t, t.Obj(), t.TypeArgs())
	case *types.Map:
		w.visit(t.Key())
		w.visit(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		w.visit(t.Elem())
	case *types.Signature:
		w.parameters(t.TypeParams())
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				w.visit(v.Type())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() || f.Embedded() {
				w.visit(f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			w.visit(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			w.visit(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.visit(term.Type())
		}
	}
}

func (w *walker) parameters(list *types.TypeParamList) {
	for p := range list.TypeParams() {
		w.visit(p.Constraint())
	}
}

func (w *walker) named(t types.Type, name *types.TypeName, arguments *types.TypeList) {
	for a := range arguments.Types() {
		w.visit(a)
	}
	if name.Pkg() == nil {
		return
	}
	w.each(name)
	if name.Pkg() == w.of && !name.Exported() {
		w.declared(t) // others see what it has
	}
}
