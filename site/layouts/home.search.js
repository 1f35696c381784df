{{- $pages := slice -}}
{{- range where site.Pages "File" "ne" nil -}}
  {{- $titles := slice -}}
  {{- range .Fragments.Headings }}{{ range .Headings }}{{ $titles = $titles | append (dict "title" .Title "id" .ID) }}{{ range .Headings }}{{ $titles = $titles | append (dict "title" .Title "id" .ID) }}{{ end }}{{ end }}{{ end -}}
  {{- $pages = $pages | append (dict "title" (partial "title.html" .) "url" (.RelPermalink | strings.TrimPrefix "/") "titles" $titles) -}}
{{- end -}}
addPages({{ $pages | jsonify }});
