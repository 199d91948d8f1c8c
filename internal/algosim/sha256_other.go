//go:build !js

package algosim

import "crypto/sha256"

func hashOf(data []byte) [32]byte { return sha256.Sum256(data) }
