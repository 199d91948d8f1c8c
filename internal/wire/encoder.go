package wire

import (
	"bytes"
	"reflect"
	"sync"

	"github.com/elect-go/elect/algo"
	"github.com/vmihailenco/msgpack/v5"
)

// encoder collects what msgpack writes.
type encoder struct {
	out     bytes.Buffer
	msgpack *msgpack.Encoder // writes there
	id      algo.NodeID
	idValue reflect.Value // id, to copy a field into without an allocation
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.msgpack = msgpack.NewEncoder(&e.out)
	e.idValue = reflect.ValueOf(&e.id).Elem()
	return e
}}
