package tlsauth

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// secret is what all members of a cluster know. Its text is prefix, followed by the bytes and the first bytes of
// their SHA-256 in URL-safe base64, so that a typo is detected.
type secret [32]byte

const (
	prefix   = "elect1_"
	checkLen = 4
	// maxSecrets limits the secrets that an unauthenticated proof is compared with.
	maxSecrets = 16
)

// NewSecret draws a secret of 32 random bytes, and returns its text.
func NewSecret() string {
	var s secret
	_, _ = rand.Read(s[:]) // it never fails
	return s.text()
}

func (s secret) text() string {
	sum := sha256.Sum256(s[:])
	return prefix + base64.RawURLEncoding.EncodeToString(append(s[:], sum[:checkLen]...))
}

// parseSecrets reads a file with one secret per line, the one to use first. A # begins a comment. Errors do not quote
// the file.
func parseSecrets(text []byte) (all []secret, err error) {
	line := 0
	for text := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\uFEFF")))) {
		line++
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		s, problem := parseSecret(text)
		if problem != "" {
			return nil, fmt.Errorf("line %d: %s", line, problem)
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

// parseSecret reads the text of a secret. If it is invalid, problem says why.
func parseSecret(text string) (s secret, problem string) {
	encoded, hasPrefix := strings.CutPrefix(text, prefix)
	want := base64.RawURLEncoding.EncodedLen(len(s) + checkLen)
	switch {
	case !hasPrefix:
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
	client = "client" // the dialer
	server = "server"
)

// proof proves, within one channel, that the end with a role knows s. It is useless in another channel, role or
// cluster. The material is what TLS derives for the channel: see openChannel.
func (s secret) proof(role, cluster string, material []byte) []byte {
	mac := hmac.New(sha256.New, s[:])
	fmt.Fprintf(mac, "elect proof 1\x00%s\x00%s\x00", role, cluster)
	mac.Write(material)
	return mac.Sum(nil)
}

// verifyProof checks a proof in constant time.
func (s secret) verifyProof(proof []byte, role, cluster string, material []byte) bool {
	return hmac.Equal(proof, s.proof(role, cluster, material))
}
