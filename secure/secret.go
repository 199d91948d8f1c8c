package secure

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// secret is what all members of a cluster know. Its text is prefix and, in base64 for URLs, the bytes and the
// first of their SHA-256, so that a typo is found.
type secret [32]byte

const (
	prefix   = "elect1_"
	checkLen = 4
	// maxSecrets bounds what a stranger's proof is compared with.
	maxSecrets = 16
)

// NewSecret draws a secret of 32 bytes, and returns it as it stands in a file.
func NewSecret() string {
	var s secret
	_, _ = rand.Read(s[:]) // it never fails
	return s.text()
}

func (s secret) text() string {
	sum := sha256.Sum256(s[:])
	return prefix + base64.RawURLEncoding.EncodeToString(append(s[:], sum[:checkLen]...))
}

// parseSecrets reads a file: a secret on each line, the one to use first. What follows a # is a comment. Its
// errors do not repeat what is there.
func parseSecrets(text []byte) (all []secret, err error) {
	line := 0
	for written := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\uFEFF")))) {
		line++
		written, _, _ = strings.Cut(written, "#")
		if written = strings.TrimSpace(written); written == "" {
			continue
		}
		s, why := parseSecret(written)
		if why != "" {
			return nil, fmt.Errorf("line %d: %s", line, why)
		}
		all = append(all, s)
	}
	switch {
	case len(all) == 0:
		return nil, fmt.Errorf("it holds no secret; 'elect secret' prints one")
	case len(all) > maxSecrets:
		return nil, fmt.Errorf("it holds %d secrets, want at most %d", len(all), maxSecrets)
	}
	return all, nil
}

// parseSecret says what is wrong with a text that is no secret.
func parseSecret(text string) (s secret, wrong string) {
	encoded, ours := strings.CutPrefix(text, prefix)
	want := base64.RawURLEncoding.EncodedLen(len(s) + checkLen)
	switch {
	case !ours:
		return s, fmt.Sprintf("it does not begin with %s, as what 'elect secret' prints", prefix)
	case len(encoded) != want:
		return s, fmt.Sprintf("%d characters follow %s, want %d: it is cut, or two lines are one", len(encoded), prefix, want)
	}
	decoded, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return s, "a character in it is none of A to Z, a to z, 0 to 9, - and _"
	}
	copy(s[:], decoded)
	if s.text() != text {
		return s, "it has a typo: its last characters do not fit the rest"
	}
	return s, ""
}

// The roles of the two ends of a channel.
const (
	client = "client" // it has dialled
	server = "server"
)

// proof shows, within one channel, that who has a role there knows a secret. It is of no use in another channel,
// role or cluster. Material is what TLS derives for the channel: see material.
func (s secret) proof(role, cluster string, material []byte) []byte {
	mac := hmac.New(sha256.New, s[:])
	fmt.Fprintf(mac, "elect proof 1\x00%s\x00%s\x00", role, cluster)
	mac.Write(material)
	return mac.Sum(nil)
}

// proves compares without telling by its time how much of a proof is right.
func (s secret) proves(proof []byte, role, cluster string, material []byte) bool {
	return hmac.Equal(proof, s.proof(role, cluster, material))
}
