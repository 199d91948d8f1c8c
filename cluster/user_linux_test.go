package cluster_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/client"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
)

// Another user of this machine may ask for the status of a cluster on the loopback without a secret. It may send no
// admin request, and run no member, because a member can request the removal of another one.
func TestOtherUserIsRejected(t *testing.T) {
	if addr := os.Getenv("CLUSTER_TEST_ADDR"); addr != "" {
		asAnotherUser(t, addr)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	testkit.Processes(t)
	m := run(t, cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Timing: algo.Local(), Lease: lease.Off})
	m.follows(t, "n1", 30*time.Second)
	self, err := os.Open("/proc/self/exe") // its folder may be readable by root only
	require.NoError(t, err)
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^"+t.Name()+"$")
	cmd.ExtraFiles = []*os.File{self}
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "CLUSTER_TEST_ADDR="+m.Members()[0].Addr)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotEmpty(t, m.log.Lines("admin request rejected", `by="user 65533"`))
	require.Empty(t, m.log.Lines("connected"))
}

func asAnotherUser(t *testing.T, addr string) {
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	r := raw{t, c}
	r.say(hello())
	require.Contains(t, r.closes(time.Minute), "members are of one user: tlsauth: it is user 65533")

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = client.Client{}.Status(ctx, addr)
	require.NoError(t, err)
	err = client.Client{}.SetPriority(ctx, addr, 3)
	require.ErrorContains(t, err, "only processes of the same user may administer this node: tlsauth: it is user 65533")
}
