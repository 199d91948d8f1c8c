package membership

import (
	"os"
	"testing"

	"github.com/elect-go/elect/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.CollectLess()
	os.Exit(m.Run())
}
