{{ define "lib.cm" }}apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: {{ .Release.Namespace }}}
{{ end }}