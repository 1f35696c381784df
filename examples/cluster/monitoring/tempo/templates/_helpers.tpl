{{- define "tempo.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/component: single-binary
{{- end }}

{{- define "tempo.labels" -}}
{{ include "tempo.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
