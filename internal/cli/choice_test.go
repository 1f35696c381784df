package cli_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/cli"
)

func TestChoice(t *testing.T) {
	c := cli.OneOf("table", "json")
	if c.Value != "table" || c.Usage() != "table|json" {
		t.Errorf("%+v, %s", c, c.Usage())
	}
	if err := c.Set("json"); err != nil || c.Value != "json" {
		t.Errorf("%+v, %v", c, err)
	}
	if err := c.Set("xml"); err == nil || err.Error() != "must be one of table|json" || c.Value != "json" {
		t.Errorf("%+v, %v", c, err)
	}
}
