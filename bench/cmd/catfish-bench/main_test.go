package main

import (
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, program.Run) }
