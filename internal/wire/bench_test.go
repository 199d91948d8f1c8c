package wire

import (
	"testing"

	"github.com/elect-go/elect/algo"
)

// benchmark encodes and decodes a message, into a buffer that is used again.
func benchmark(b *testing.B, m algo.Message) {
	c := everything(b)
	buf, err := c.Append(nil, m)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = c.Append(buf[:0], m); err != nil {
			b.Fatal(err)
		}
		if _, err = c.Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) { benchmark(b, heartbeat{View: 0x0123456789abcdef}) }

func BenchmarkHello(b *testing.B) {
	benchmark(b, Hello{
		MinVersion: 1, MaxVersion: 1, Cluster: "production", ClusterID: nodeA, Algorithm: "bully",
		Settings: "answer_timeout=150ms\ncoordinator_timeout=300ms", Name: "n1", ID: nodeA, Addr: "127.0.0.1:7000",
	})
}

func BenchmarkConfigOf100(b *testing.B) {
	m := config{Version: 1}
	for i := range 100 {
		m.Members = append(m.Members, member{ID: algo.NodeID{byte(i)}, Name: "n1", Addr: "127.0.0.1:7000", Eligible: true})
	}
	benchmark(b, m)
}

func BenchmarkEncodeHeartbeat(b *testing.B) {
	c := everything(b)
	var m algo.Message = heartbeat{View: 0x0123456789abcdef}
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(buf, m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeInvalid(b *testing.B) {
	c := everything(b)
	for _, name := range []string{"a long array", "nested arrays to skip", "a long slice of structs"} {
		input := invalidInputs(b)[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Decode(input); err == nil {
					b.Fatal("no error")
				}
			}
		})
	}
}
