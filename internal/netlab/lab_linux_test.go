package netlab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

func newLab(t *testing.T, hosts int) *Lab {
	t.Helper()
	testkit.OnlyLong(t)
	l, err := New(hosts)
	if errors.Is(err, ErrUnavailable) {
		testkit.Need(t, false, err.Error())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

// sockets opens a UDP socket on each host.
func sockets(t *testing.T, l *Lab) []*net.UDPConn {
	t.Helper()
	all := make([]*net.UDPConn, len(l.hosts))
	for i := range l.hosts {
		require.NoError(t, l.Do(i, func() (err error) {
			all[i], err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(l.Addr(i)), Port: 7})
			return err
		}))
		t.Cleanup(func() { all[i].Close() })
	}
	return all
}

// requireReach sends datagrams each way between all sockets. It requires that exactly the wanted ways, such as "0>1",
// let them through. It repeats a wanted datagram until it arrives: datagrams are lost while a host asks for the address
// of another, which takes long on a busy machine. The unwanted datagrams have 100 ms to arrive, all together.
func requireReach(t *testing.T, want []string, sockets []*net.UDPConn) {
	t.Helper()
	round := uuid.NewString() // datagrams of a previous call do not count
	send := func(from, to int) {
		_, err := sockets[from].WriteTo(fmt.Appendf(nil, "%s %d>%d", round, from, to), sockets[to].LocalAddr())
		require.NoError(t, err, "a loss is silent")
	}
	var through []string
	receive := func(to int, patience time.Duration) {
		require.NoError(t, sockets[to].SetReadDeadline(time.Now().Add(patience)))
		for {
			var b [64]byte
			n, err := sockets[to].Read(b[:])
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			require.NoError(t, err)
			way, now := strings.CutPrefix(string(b[:n]), round+" ")
			if now && !slices.Contains(through, way) {
				through = append(through, way)
				if slices.Contains(want, way) {
					return
				}
			}
		}
	}
	for from := range sockets {
		for to := range sockets {
			if from != to {
				send(from, to)
			}
		}
	}
	for _, way := range want {
		var from, to int
		_, err := fmt.Sscanf(way, "%d>%d", &from, &to)
		require.NoError(t, err)
		for end := time.Now().Add(30 * time.Second); !slices.Contains(through, way) && time.Now().Before(end); {
			receive(to, 100*time.Millisecond)
			send(from, to)
		}
	}
	if len(want) < len(sockets)*(len(sockets)-1) {
		for to, end := 0, time.Now().Add(100*time.Millisecond); to < len(sockets); to++ {
			receive(to, max(10*time.Millisecond, time.Until(end))) // it takes a moment to read what has arrived
		}
	}
	slices.Sort(through)
	require.Equal(t, want, through)
}

func TestSplitLosesPacketsUntilHeal(t *testing.T) {
	l := newLab(t, 3)
	s := sockets(t, l)
	all := []string{"0>1", "0>2", "1>0", "1>2", "2>0", "2>1"}
	requireReach(t, all, s)
	for _, tc := range []struct {
		name string
		cut  func() error
		want []string
	}{
		{"two groups", func() error { return l.Split([]int{0, 2}, []int{1}) }, []string{"0>2", "2>0"}},
		{"a host in no group is alone", func() error { return l.Split([]int{1, 2}) }, []string{"1>2", "2>1"}},
		{"every host is alone", func() error { return l.Split() }, nil},
		{"one way", func() error { return l.Drop(0, 1) }, []string{"0>2", "1>0", "1>2", "2>0", "2>1"}},
		{"one way, to all", func() error { return l.Drop(0, 1, 2) }, []string{"1>0", "1>2", "2>0", "2>1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, tc.cut())
			requireReach(t, tc.want, s)
			require.NoError(t, l.Heal())
			requireReach(t, all, s)
		})
	}
}

func TestInvalidSplitIsRejected(t *testing.T) {
	l := newLab(t, 2)
	require.ErrorContains(t, l.Split([]int{0}, []int{0, 1}), "each of the hosts 0 to 1 once at most")
	require.ErrorContains(t, l.Split([]int{2}), "each of the hosts 0 to 1 once at most")
	_, err := New(0)
	require.ErrorContains(t, err, "want 1 to 64")
}

func TestCommandRunsOnHost(t *testing.T) {
	l := newLab(t, 2)
	command := append(l.Command(1), "ip", "-brief", "addr")
	said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), l.Addr(1)+"/24")
	require.NotContains(t, string(said), l.Addr(0)+"/24")
}

func TestMachineNetworkIsUnchanged(t *testing.T) {
	before, err := net.Interfaces()
	require.NoError(t, err)
	l := newLab(t, 2)
	during, err := net.Interfaces()
	require.NoError(t, err)
	require.Equal(t, before, during)

	path := l.hosts[0].path()
	require.FileExists(t, path)
	require.NoError(t, l.Close())
	require.NoFileExists(t, path)
}

func TestLabWithoutToolsIsUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := New(1)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `"ip"`)
}

// Datagrams and a stream arrive later by the delay. The stream is complete, although no network card computes its
// checksums and segments.
func TestDelayedPacketArrivesLater(t *testing.T) {
	const by = 100 * time.Millisecond
	l := newLab(t, 3)
	require.NoError(t, l.Delay(by))
	s := sockets(t, l)
	began := time.Now()
	requireReach(t, []string{"0>1", "0>2", "1>0", "1>2", "2>0", "2>1"}, s)
	require.GreaterOrEqual(t, time.Since(began), by)

	var there net.Listener
	require.NoError(t, l.Do(0, func() (err error) {
		there, err = net.Listen("tcp", net.JoinHostPort(l.Addr(0), "8"))
		return err
	}))
	defer there.Close()
	sent := bytes.Repeat([]byte("a stream of many segments "), 10_000)
	go func() {
		c, err := there.Accept()
		if err == nil {
			_, _ = c.Write(sent)
			_ = c.Close()
		}
	}()
	began = time.Now()
	var got []byte
	require.NoError(t, l.Do(1, func() error {
		c, err := net.Dial("tcp", there.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		got, err = io.ReadAll(c)
		return err
	}))
	require.True(t, bytes.Equal(sent, got), "%d bytes, want %d", len(got), len(sent))
	require.GreaterOrEqual(t, time.Since(began), 3*by, "a dial there and back, and what is sent")
}
