{{- define "labels" -}}
app: {{ .Release.Name }}
x: "1"
{{- end -}}
