{{- define "argosy.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "argosy.repoServerAccount" -}}
{{ .Values.argocd.serviceAccount | default (printf "%s-repo-server" .Values.argocd.name) }}
{{- end }}

{{- define "argosy.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: argosy
{{- end }}

{{- define "argosy.reads" -}}
[argosy-reads-0, argosy-reads-1, argosy-reads-2, argosy-reads-3, argosy-reads-4, argosy-reads-5, argosy-reads-6, argosy-reads-7]
{{- end }}

{{- define "argosy.container" -}}
image: {{ include "argosy.image" . | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
readinessProbe:
  httpGet: {path: /readyz, port: http}
livenessProbe:
  httpGet: {path: /healthz, port: http}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "argosy.pod" -}}
securityContext:
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}
