package membership

import (
	"os"
	"testing"

	"github.com/elect-go/elect/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.CollectLess()
	os.Exit(m.Run())
}
