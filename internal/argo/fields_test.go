package argo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFieldsOf: fields of the three kinds, by version. TestFields in conformance/ compares all of them with the CRDs.
func TestFieldsOf(t *testing.T) {
	source := FieldsOf(KindApplication).Field("spec").Field("sources")
	if !source.Has("helm", 2) || source.Has("tagPrefix", 4) || !source.Has("tagPrefix", 5) || !source.Has("tagPrefix", 0) ||
		source.Since("tagPrefix") != 5 || source.Since("helm") != 0 || source.Has("x", 0) {
		t.Errorf("%v", source.Names(0))
	}
	if FieldsOf(KindApplication).Field("status").Listed() || !FieldsOf(KindAppProject).Field("metadata").Has("labels", 0) || FieldsOf("x").Listed() {
		t.Error("what is listed is wrong")
	}
	want := [][]string{{"generators", "merge", "mergeKeys"}}
	if diff := cmp.Diff(want, FieldsOf(KindApplicationSet).Field("spec").Find("mergeKeys", 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := FieldsOf(KindAppProject).Find("nothing", 0); got != nil {
		t.Errorf("%v", got)
	}
}
