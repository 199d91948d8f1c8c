package engine

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/fd"
)

// oddMessages creates messages that no correct node sends: their fields have any value that the type allows.
type oddMessages struct{ *rand.Rand }

func (s oddMessages) message(like algo.Message, epoch algo.Epoch) algo.Message {
	m := reflect.New(reflect.TypeOf(like)).Elem()
	s.fill(m, epoch)
	return m.Interface().(algo.Message)
}

func (s oddMessages) fill(v reflect.Value, epoch algo.Epoch) {
	switch v.Interface().(type) {
	case algo.NodeID:
		v.Set(reflect.ValueOf(id(s.IntN(9)))) // no node, the node itself, members and non-members
		return
	case algo.Epoch:
		near := []algo.Epoch{0, 1, max(epoch, 1) - 1, epoch, epoch + 1, epoch + 2, epoch + 1<<32, algo.MaxEpoch - 1<<40}
		v.SetUint(uint64(near[s.IntN(len(near))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			s.fill(v.Field(i), epoch)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), s.IntN(4), 4))
		for i := range v.Len() {
			s.fill(v.Index(i), epoch)
		}
	case reflect.Bool:
		v.SetBool(s.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "n1", "n2", addr(1), addr(2), "\x1b[2J"}[s.IntN(6)])
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{-1 << 63, -1, 0, 1, int64(interval), 1<<63 - 1}[s.IntN(6)])
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, 2, 7, 1<<8 - 1, 1<<32 - 1}[s.IntN(6)])
	default:
		panic("no message has a field of type " + v.Type().String())
	}
}

// No message of a member makes an engine panic, lower its epoch, or have too many effects, also between suspicions,
// reconnections and elections.
func TestAnyMessageOfMemberIsSafe(t *testing.T) {
	for _, a := range speeches(t) {
		for seed := range uint64(20) {
			s := oddMessages{rand.New(rand.NewPCG(seed, 1))}
			e := fiveMembers(t, a.spec)
			said := append(Messages(), a.spec.Messages...)
			now := time.Duration(0)
			for range 300 {
				now += time.Duration(s.Int64N(int64(interval)))
				wakeAll(t, a, e, now)
				from := id(2 + s.IntN(5))
				bounded(t, a, e, func() *Output {
					switch s.IntN(13) {
					case 12:
						if e.static != nil {
							out, err := e.SetMembers(now, addrs(1+s.IntN(largestList)))
							if err != nil {
								t.Fatal(err)
							}
							return out
						}
						return e.SetPriority(now, s.IntN(3))
					case 0:
						return e.Down(now, from, false)
					case 1:
						return e.HandleDialFailure(now, Target{ID: from, Addr: e.addrOf(from)}, fd.DialRefused)
					case 2:
						return e.Up(now, Peer{ID: from, Name: "n2", Incarnation: s.Uint64N(3), Digest: e.Digest()})
					case 3:
						return e.Campaign(now)
					case 4:
						return e.Receive(now, from, s.message(said[s.IntN(len(said))], e.machine.HardState().Epoch))
					default:
						m := a.spec.Messages[s.IntN(len(a.spec.Messages))]
						return e.Receive(now, from, s.message(m, e.machine.HardState().Epoch))
					}
				})
			}
		}
	}
}

func (e *Engine) addrOf(node algo.NodeID) string {
	m, _ := e.View().Member(node)
	return m.Addr
}
