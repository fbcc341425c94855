{{- define "pipespan.name" -}}
{{- if contains "pipespan" .Release.Name }}{{ .Release.Name | trunc 50 }}{{ else }}{{ printf "%s-pipespan" .Release.Name | trunc 50 }}{{ end }}
{{- end }}

{{- define "pipespan.selector" -}}
app.kubernetes.io/name: pipespan
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "pipespan.labels" -}}
{{ include "pipespan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "pipespan.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "pipespan.adminSecret" -}}
{{ .Values.admin.existingSecret | default .Values.webhook.existingSecret }}
{{- end }}

{{/* The path under which a proxy publishes the daemon, without a trailing slash. */}}
{{- define "pipespan.basePath" -}}
{{ dig "base_path" "" .Values.config | trimSuffix "/" }}
{{- end }}

{{/* The scheduling settings of every pod that the chart creates. */}}
{{- define "pipespan.placement" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pipespan.probe" -}}
httpGet:
  path: {{ . | first }}
  port: http
  {{- if dig "tls" "cert_file" "" (last .).Values.config }}
  scheme: HTTPS
  {{- end }}
{{- end }}

{{- define "pipespan.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "pipespan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "pipespan.container" -}}
name: pipespan
image: {{ include "pipespan.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
ports:
  - name: http
    containerPort: 8080
  {{- if .Values.admin.enabled }}
  - name: admin
    containerPort: 8081
  {{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
env:
  {{- /* A file without settings is an error. */}}
  {{- if .Values.config }}
  - name: PIPESPAN_CONFIG
    value: /etc/pipespan/pipespan.yaml
  {{- end }}
  # The file is read again when it changes, so the token can be replaced without a restart.
  - name: PIPESPAN_WEBHOOK_TOKEN_FILE
    value: /run/secrets/pipespan/{{ .Values.webhook.key }}
  {{- with .Values.webhook.signingKey }}
  - name: PIPESPAN_WEBHOOK_SIGNING_TOKEN_FILE
    value: /run/secrets/pipespan/{{ . }}
  {{- end }}
  {{- with .Values.platform }}
  {{- with .profile }}
  - name: PIPESPAN_PLATFORM_PROFILE
    value: {{ . }}
  {{- end }}
  {{- with .url }}
  - name: PIPESPAN_PLATFORM_URL
    value: {{ . | quote }}
  {{- end }}
  {{- if .existingSecret }}
  - name: PIPESPAN_PLATFORM_TOKEN_FILE
    value: /run/secrets/platform/{{ .key }}
  {{- end }}
  {{- end }}
  - name: PIPESPAN_STORE_URL
    {{- if eq .Values.store.kind "postgres" }}
    valueFrom:
      secretKeyRef:
        name: {{ .Values.store.postgres.existingSecret }}
        key: {{ .Values.store.postgres.key }}
    {{- else }}
    value: sqlite:/data/pipespan.db
    {{- end }}
  {{- if .Values.tokenRotation.enabled }}
  - name: PIPESPAN_OBSERVABILITY_TOKEN_FILE
    value: /run/secrets/ingest/token
  {{- end }}
  {{- if .Values.admin.enabled }}
  - name: PIPESPAN_ADMIN_LISTEN
    value: '[::]:8081'
  - name: PIPESPAN_ADMIN_TOKEN_FILE
    value: /run/secrets/{{ ternary "pipespan" "admin" (eq (include "pipespan.adminSecret" .) .Values.webhook.existingSecret) }}/{{ .Values.admin.key }}
  {{- end }}
  {{- if or .Values.ingress.enabled .Values.httpRoute.enabled }}
  # The daemon runs behind a proxy that reports the client's address.
  - name: PIPESPAN_TRUST_PROXY
    value: 'true'
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/pipespan
    readOnly: true
  # The whole folder is mounted, because Kubernetes never updates a file that is mounted with subPath.
  - name: secrets
    mountPath: /run/secrets/pipespan
    readOnly: true
  {{- if eq .Values.store.kind "sqlite" }}
  - name: data
    mountPath: /data
  {{- end }}
  {{- if .Values.platform.existingSecret }}
  - name: platform
    mountPath: /run/secrets/platform
    readOnly: true
  {{- end }}
  {{- if .Values.tokenRotation.enabled }}
  - name: ingest
    mountPath: /run/secrets/ingest
    readOnly: true
  {{- end }}
  {{- if and .Values.admin.enabled (ne (include "pipespan.adminSecret" .) .Values.webhook.existingSecret) }}
  - name: admin
    mountPath: /run/secrets/admin
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
securityContext:
  {{- include "pipespan.containerSecurity" . | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
startupProbe:
  {{- include "pipespan.probe" (list "/healthz" .) | nindent 2 }}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  {{- include "pipespan.probe" (list "/healthz" .) | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  {{- include "pipespan.probe" (list "/readyz" .) | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
