package events

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/serve/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
