package fence

import (
	"context"
	"path/filepath"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	for name, g := range map[string]*Gate{"memory": NewMemory(), "file": open(b, filepath.Join(b.TempDir(), "gate"))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := g.Write(context.Background(), nr(1), nothing); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
