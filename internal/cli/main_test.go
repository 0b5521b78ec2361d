package cli

import (
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, Program{}.Run) }
