package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/internal/jsonlite"
	"github.com/elect-go/elect/internal/options"
)

// ErrRequest reports a request that does not have the form of its call. A page sends none.
var ErrRequest = errors.New("the request has another form")

// Rejection is the answer to a request that has no result.
type Rejection struct {
	Problems []Problem `json:"problems"`
}

// Reject returns a rejection with one problem.
func Reject(format string, args ...any) Rejection {
	return Rejection{[]Problem{{Text: fmt.Sprintf(format, args...)}}}
}

// Call is a function of this package that a page calls. The request is JSON.
type Call func(ctx context.Context, request []byte, build Build) (result any, err error)

// Calls returns the calls of a page by name. A page sends its requests over HTTP, or to the engine inside of an
// exported page, and both use these functions.
func Calls() map[string]Call {
	return map[string]Call{
		"run": call(Run),
	}
}

func call[Request, Result any](do func(context.Context, Request, Build) (Result, error)) Call {
	return func(ctx context.Context, text []byte, build Build) (any, error) {
		var request Request
		if err := jsonlite.UnmarshalStrict(text, &request); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRequest, err)
		}
		return do(ctx, request, build)
	}
}

// BuildFrom returns a Build with the algorithms of a registry. An empty name selects bully, or the first algorithm.
// Without a timing, the defaults are those of [algo.LAN], and the options are checked against no timing.
func BuildFrom(registry algo.Registry) Build {
	return func(algorithm string, t algo.Timing, given []algo.Setting) (algo.Spec, error) {
		return options.Spec(registry, algorithm, cmp.Or(t, algo.LAN()), t, given)
	}
}

// Answer returns the answer to a request as JSON: the result of a call, or a [Rejection] for its error.
func Answer(result any, err error) []byte {
	if err != nil {
		return jsonlite.Marshal(Rejection{Problems(err)})
	}
	return jsonlite.Marshal(result)
}
