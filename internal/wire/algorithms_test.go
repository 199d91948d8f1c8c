package wire_test

import (
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/internal/engine"
	"github.com/elect-go/elect/internal/wire"
)

// The messages of each algorithm for production, and of its lease, arrive as they were sent, whatever their values.
func TestMessagesOfAlgorithmsRoundTrip(t *testing.T) {
	for name, factory := range builtin.ForUse() {
		spec, err := factory(algo.LAN(), nil)
		require.NoError(t, err)
		spec, err = lease.Wrap(spec, algo.LAN(), lease.Defaults(algo.LAN()))
		require.NoError(t, err)
		codec, err := wire.NewCodec(append(engine.Messages(), spec.Messages...)...)
		require.NoError(t, err)
		require.Greater(t, len(spec.Messages), 4, "the algorithm's and those of the lease")
		random := rand.New(rand.NewSource(1))
		for _, m := range spec.Messages {
			for range 50 {
				value, ok := quick.Value(reflect.TypeOf(m), random)
				require.True(t, ok, m.Kind())
				sent := reflect.New(value.Type()).Elem()
				sent.Set(value)
				lowerEpochs(sent)
				want := sent.Interface().(algo.Message)
				b, err := codec.Append(nil, want)
				require.NoError(t, err, name)
				got, err := codec.Decode(b)
				require.NoError(t, err, name)
				require.Equal(t, want, got, name)
			}
		}
	}
}

// lowerEpochs lowers the epochs in a struct to those that the wire carries.
func lowerEpochs(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == reflect.TypeFor[algo.Epoch]():
			f.SetUint(f.Uint() & uint64(algo.MaxEpoch))
		case f.Kind() == reflect.Struct:
			lowerEpochs(f)
		}
	}
}
