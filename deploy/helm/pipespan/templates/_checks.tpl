{{/* Rejects values that would be ignored, must not be in a ConfigMap, or contradict another value. */}}
{{- define "pipespan.checks" -}}
{{- $paths := include "pipespan.paths" (dict "value" .Values.config "path" "") | splitList "\n" }}
{{- range $path, $value := .Files.Get "files/secrets.yaml" | fromYaml }}
{{- if has $path $paths }}
{{- fail (printf "config.%s is a secret, but config is stored in a ConfigMap that many people can read: remove it from config. %s" $path $value) }}
{{- end }}
{{- end }}
{{- range $path, $value := dict
  "listen" "The container listens on port 8080; service.port is the port of the Service."
  "admin.listen" "admin.enabled opens the admin port."
  "store.url" "store.kind, store.sqlite and store.postgres determine where the store is."
  "webhook.token_file" "webhook.existingSecret and webhook.key determine where the token is." }}
{{- if has $path $paths }}
{{- fail (printf "config.%s is ignored, because the chart sets it: remove it. %s" $path $value) }}
{{- end }}
{{- end }}
{{- range $path, $value := dict "platform.url" .Values.platform.url "platform.profile" .Values.platform.profile
  "platform.token_file" .Values.platform.existingSecret "webhook.signing_token_file" .Values.webhook.signingKey
  "admin.token_file" (.Values.admin.enabled | ternary "admin.enabled" "")
  "observability.token_file" (.Values.tokenRotation.enabled | ternary "tokenRotation.enabled" "")
  "trust_proxy" (or .Values.ingress.enabled .Values.httpRoute.enabled | ternary "ingress.enabled or httpRoute.enabled" "") }}
{{- if and $value (has $path $paths) }}
{{- fail (printf "config.%s is ignored, because the value %q sets it: remove one of them." $path $value) }}
{{- end }}
{{- end }}
{{- if ne (empty (dig "tls" "cert_file" "" .Values.config)) (empty (dig "tls" "key_file" "" .Values.config)) }}
{{- fail "config.tls needs both cert_file and key_file." }}
{{- end }}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" }}
{{- if hasKey $.Values.podLabels $label }}
{{- fail (printf "podLabels: remove %s, which the chart sets, because Services select pods by it." $label) }}
{{- end }}
{{- end }}
{{- range .Values.env }}
{{- if has .name (list "PIPESPAN_CONFIG" "PIPESPAN_LISTEN" "PIPESPAN_ADMIN_LISTEN" "PIPESPAN_STORE_URL" "PIPESPAN_WEBHOOK_TOKEN" "PIPESPAN_WEBHOOK_TOKEN_FILE") }}
{{- fail (printf "env: %s is set by the chart: remove it, and use the values webhook, store, service and admin." .name) }}
{{- end }}
{{- end }}
{{- if and .Values.sidecar.containers (ne .Values.store.kind "sqlite") }}
{{- fail "sidecar.containers needs store.kind sqlite, because Pipespan has only one replica if it runs as a sidecar." }}
{{- end }}
{{- if and .Values.platform.existingSecret (not .Values.platform.url) (not (dig "platform" "url" "" .Values.config)) }}
{{- fail "platform.existingSecret needs platform.url: the token is sent there." }}
{{- end }}
{{- $fromOutside := or .Values.ingress.admin.enabled .Values.httpRoute.admin.enabled }}
{{- if and (or $fromOutside .Values.serviceMonitor.enabled) (not .Values.admin.enabled) }}
{{- fail "The admin Ingress, the admin HTTPRoute and the ServiceMonitor need admin.enabled, because they use the admin port." }}
{{- end }}
{{- with .Values.store.postgres.maxConnections }}
{{- $needed := mul 8 (add1 $.Values.autoscaling.maxReplicas) }}
{{- if and (eq $.Values.store.kind "postgres") (gt $needed (sub . 3)) }}
{{- fail (printf "autoscaling.maxReplicas %d needs up to %d connections during a rollout (8 for each replica, and one replica more), but store.postgres.maxConnections leaves only %d. Lower autoscaling.maxReplicas, or raise the server's max_connections and store.postgres.maxConnections." (int $.Values.autoscaling.maxReplicas) $needed (sub . 3)) }}
{{- end }}
{{- end }}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) }}
{{- fail "autoscaling.minReplicas is above autoscaling.maxReplicas." }}
{{- end }}
{{- end }}

{{/* Lists the paths of all keys in a value, one per line. The path of a list item ends in []. */}}
{{- define "pipespan.paths" -}}
{{- $path := .path }}
{{- if kindIs "map" .value }}
{{- range $key, $value := .value }}
{{- $inner := eq $path "" | ternary $key (printf "%s.%s" $path $key) }}
{{ $inner }}
{{- include "pipespan.paths" (dict "value" $value "path" $inner) }}
{{- end }}
{{- else if kindIs "slice" .value }}
{{- range .value }}
{{- include "pipespan.paths" (dict "value" . "path" (printf "%s[]" $path)) }}
{{- end }}
{{- end }}
{{- end }}
