// Package fd is public. It shows types of package x in each way that the language has.
package fd

import "github.com/elect-go/elect/internal/x"

func Uses() int { return x.New().N }

type hides struct{ T x.T }

type Hides struct{ t x.T }

func (Hides) hides(x.T) {}

func Parameter(x.T) {} // want: fd.Parameter shows internal/x.T

func Result() (int, []*x.T) { return 0, nil } // want: fd.Result shows internal/x.T

var Variable = x.New() // want: fd.Variable shows internal/x.T

type Field struct{ F map[string]x.T } // want: fd.Field shows internal/x.T

type Key struct{ F map[x.T]int } // want: fd.Key shows internal/x.T

type Embedded struct{ x.T } // want: fd.Embedded shows internal/x.T

type Method struct{} // want: fd.Method shows internal/x.T

func (*Method) M(func(x.T)) {}

type Interface interface{ M() <-chan x.T } // want: fd.Interface shows internal/x.T

type Union interface{ x.T | int } // want: fd.Union shows internal/x.T

type Alias = x.T // want: fd.Alias shows internal/x.T

type Underlying x.G[int]

type Generic struct{ F x.G[int] } // want: fd.Generic shows internal/x.G

type list[P any] []P

func Argument() list[x.T] { return nil } // want: fd.Argument shows internal/x.T

func Constraint[P interface{ M(x.T) }](P) {} // want: fd.Constraint shows internal/x.T

type ConstraintOfType[P interface{ M(x.T) }] struct{} // want: fd.ConstraintOfType shows internal/x.T

type embeds struct{ F x.T }

type Promoted struct{ embeds } // want: fd.Promoted shows internal/x.T

type returned struct{}

func (returned) M() x.T { panic("not called") }

func Unexported() *returned { return nil } // want: fd.Unexported shows internal/x.T

type alias = x.T

var UnexportedAlias []alias // want: fd.UnexportedAlias shows internal/x.T
