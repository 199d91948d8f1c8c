package bench

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/bench/report"
	"github.com/elect-go/elect/internal/proccluster"
	"github.com/elect-go/elect/internal/stats"
	"github.com/elect-go/elect/internal/testkit"
)

// accesses are the ways in which members authenticate each other. The first is the baseline.
var accesses = []string{"plain", "secret", "mtls"}

// configureAccess configures an access. It makes the secret and the certificates in dir.
func configureAccess(access, dir string, nodes int, config proccluster.Config) (proccluster.Config, error) {
	elect := config.Command[0]
	switch access {
	case "secret":
		file := filepath.Join(dir, "secret")
		config.Args = append(slices.Clone(config.Args), "--secret-file", file)
		return config, runQuietly(elect, "secret", file)
	case "mtls":
		if err := runQuietly(elect, "cert", "init", "--dir", dir); err != nil {
			return config, err
		}
		for i := range nodes {
			if err := runQuietly(elect, "cert", "issue", "--dir", dir, "--member", proccluster.Name(i+1)); err != nil {
				return config, err
			}
		}
		config.ArgsOf = func(name string) []string {
			file := filepath.Join(dir, name)
			return []string{"--tls-ca", filepath.Join(dir, "ca.crt"), "--tls-cert", file + ".crt", "--tls-key", file + ".key"}
		}
	}
	return config, nil
}

// runQuietly runs a command. Its error contains the output.
func runQuietly(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("bench: %s %v: %w: %s", name, args, err, out)
	}
	return nil
}

// BenchmarkAccess compares failovers after a kill by the access of the members: a cluster without TLS, one with a
// secret and one with certificates take turns, so that other load affects all of them alike.
func BenchmarkAccess(b *testing.B) {
	config := setting(b)
	const nodes = 5
	b.Run(fmt.Sprint("algorithm=bully/signal=kill/n=", nodes), func(b *testing.B) {
		clusters := make([]*failoverSeries, len(accesses))
		for i, access := range accesses {
			config, err := configureAccess(access, b.TempDir(), nodes, config)
			if err == nil {
				clusters[i], err = failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: nodes}.start(within(b, time.Minute), builtin.Registry(), config)
			}
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				if err := clusters[i].close(); err != nil {
					b.Error(err)
				}
			})
		}
		took, next := make([][]time.Duration, len(accesses)), moments()
		repeat(b, *roundsFlag, func() {
			for i, s := range clusters {
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				r, err := s.round(ctx, next())
				cancel()
				if err != nil {
					b.Fatalf("%s: %v", accesses[i], err)
				}
				took[i] = append(took[i], r.Failover.Failover)
			}
		})
		reportAccesses(b, took)
		for i, access := range accesses {
			b.Logf("%s: %v", access, inWords(stats.Milliseconds(took[i])))
		}
	})
}

// reportAccesses reports the median of each access, and its ratio to the baseline with the interval.
func reportAccesses(b reporter, took [][]time.Duration) {
	for i, access := range accesses {
		b.ReportMetric(stats.Milliseconds(took[i]).Median, access+"-ms")
		if i > 0 {
			r := report.RatioOf(milliseconds(took[i]), milliseconds(took[0]))
			b.ReportMetric(r.Times, access+"-ratio")
			if math.IsInf(r.High, 0) { // too few rounds
				continue
			}
			b.ReportMetric(r.Low, access+"-ratio-low")
			b.ReportMetric(r.High, access+"-ratio-high")
		}
	}
}

func TestAccessesAreReported(t *testing.T) {
	seven := func(ms time.Duration) []time.Duration {
		return slices.Repeat([]time.Duration{ms * time.Millisecond}, 7)
	}
	got := make(reported)
	reportAccesses(got, [][]time.Duration{seven(2), seven(3), append(seven(4)[1:], 8*time.Millisecond)})
	require.Equal(t, reported{
		"plain-ms": 2, "secret-ms": 3, "secret-ratio": 1.5, "secret-ratio-low": 1.5, "secret-ratio-high": 1.5,
		"mtls-ms": 4, "mtls-ratio": 2, "mtls-ratio-low": 2, "mtls-ratio-high": 4,
	}, got)
	got = make(reported)
	one := []time.Duration{time.Millisecond}
	reportAccesses(got, [][]time.Duration{one, one, one})
	require.Equal(t, reported{"plain-ms": 1, "secret-ms": 1, "secret-ratio": 1, "mtls-ms": 1, "mtls-ratio": 1}, got)
}

// TestAccessRound runs one round of each access with three processes.
func TestAccessRound(t *testing.T) {
	testkit.OnlyLong(t)
	t.Parallel()
	config := config(t)
	for _, access := range accesses {
		t.Run(access, func(t *testing.T) {
			ctx := within(t, time.Minute)
			config, err := configureAccess(access, t.TempDir(), 3, config)
			require.NoError(t, err)
			s, err := failoverCase{Algorithm: "bully", Signal: proccluster.Kill, Nodes: 3}.start(ctx, builtin.Registry(), config)
			require.NoError(t, err)
			_, err = s.round(ctx, 0)
			require.NoError(t, err)
			require.NoError(t, s.close())
		})
	}
}
