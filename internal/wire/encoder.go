package wire

import (
	"reflect"
	"sync"

	"github.com/elect-go/elect/algo"
	"github.com/vmihailenco/msgpack/v5"
)

// encoder appends what msgpack writes to a slice.
type encoder struct {
	out     []byte
	msgpack *msgpack.Encoder // writes to the encoder itself
	id      algo.NodeID
	idValue reflect.Value // id, to copy a field into without an allocation
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.msgpack = msgpack.NewEncoder(e)
	e.idValue = reflect.ValueOf(&e.id).Elem()
	return e
}}

// Write implements io.Writer.
func (e *encoder) Write(b []byte) (int, error) {
	e.out = append(e.out, b...)
	return len(b), nil
}

// WriteByte implements io.ByteWriter.
func (e *encoder) WriteByte(b byte) error {
	e.out = append(e.out, b)
	return nil
}
