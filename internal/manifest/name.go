package manifest

import "strings"

// LastApplied is the annotation in which "kubectl apply" keeps a whole object. That of a Secret has its content.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Name is the name of an object as kubectl prints it: deployment.apps/web. A generated name ends with a star.
func Name(o Object) string {
	kind := strings.ToLower(String(o, "kind"))
	if group := Group(o); group != "" {
		kind += "." + group
	}
	name := String(o, "metadata", "name")
	if name == "" {
		name = String(o, "metadata", "generateName") + "*"
	}
	return kind + "/" + name
}
