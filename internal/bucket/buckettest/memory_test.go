package buckettest

import "testing"

func TestMemory(t *testing.T) { Contract(t, &Memory{}) }
