package wire

import (
	"fmt"

	"github.com/elect-go/elect/algo"
)

type example struct {
	From  algo.NodeID
	Epoch algo.Epoch
	Alive bool
	Load  []int8
	Name  string
}

func (example) Kind() string { return "beat" }

func Example() {
	codec, err := NewCodec(example{})
	if err != nil {
		panic(err)
	}
	b, err := codec.Append(nil, example{From: nodeA, Epoch: 300, Alive: true, Load: []int8{5, -2}, Name: "n1"})
	if err != nil {
		panic(err)
	}
	message, err := codec.Decode(b)
	fmt.Println(message, err)
	for _, part := range []struct {
		bytes int
		what  string
	}{{1, "array of 6"}, {5, `"beat"`}, {2, "16 bytes"}, {8, "the first half"}, {8, "the second"}, {3, "300"}, {1, "true"}, {3, "array of 2: 5, -2"}, {3, `"n1"`}} {
		fmt.Printf("% -24x %s\n", b[:part.bytes], part.what)
		b = b[part.bytes:]
	}
	fmt.Println(len(b), "more")
	// Output:
	// {00010203-0405-0607-0809-0a0b0c0d0e0f 300 true [5 -2] n1} <nil>
	// 96                       array of 6
	// a4 62 65 61 74           "beat"
	// c4 10                    16 bytes
	// 00 01 02 03 04 05 06 07  the first half
	// 08 09 0a 0b 0c 0d 0e 0f  the second
	// cd 01 2c                 300
	// c3                       true
	// 92 05 fe                 array of 2: 5, -2
	// a2 6e 31                 "n1"
	// 0 more
}
