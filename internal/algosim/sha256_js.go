package algosim

func hashOf(data []byte) [32]byte { return portableSHA256(data) }
