{{- /* The environment by which control and its commands reach PostgreSQL. */ -}}
{{- define "portcullis.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.databaseSecret | default (printf "%s-postgres" .Release.Name) }}
      key: url
{{- end -}}
