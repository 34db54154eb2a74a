{{- define "turngate.name" -}}
{{- if contains "turngate" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-turngate" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "turngate.selector" -}}
app.kubernetes.io/name: turngate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "turngate.labels" -}}
{{ include "turngate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: turngate
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "turngate.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "turngate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "turngate.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "turngate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "turngate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* One setting as an environment variable: lists and tables are JSON there. */}}
{{- define "turngate.setting" -}}
- name: TURNGATE_{{ .name | upper }}
{{- if or (kindIs "slice" .value) (kindIs "map" .value) }}
  value: {{ .value | toJson | quote }}
{{- else if kindIs "float64" .value }}
  value: {{ if eq (floor .value) .value }}{{ .value | int64 | toString | quote }}{{ else }}{{ .value | toString | quote }}{{ end }}
{{- else }}
  value: {{ .value | toString | quote }}
{{- end }}
{{- end }}

{{/* What every role and the job are told; .secret is the one with the login to Kafka. */}}
{{- define "turngate.env" -}}
{{- $values := .root.Values }}
- name: TURNGATE_BROKER
  value: {{ required "broker: give the host:port of the brokers" $values.broker | quote }}
- name: TURNGATE_PREFIX
  value: {{ $values.prefix | quote }}
- name: TURNGATE_METRICS_PORT
  value: "9090"
{{- with $values.processors.deps }}
- name: TURNGATE_DEPS
  value: {{ . | quote }}
{{- end }}
{{- $auth := $values.kafka.auth }}
{{- if and (eq $auth "certificate") (not $values.kafka.tls) }}{{ fail "kafka.auth is certificate: set kafka.tls" }}{{ end }}
{{- $tls := ternary "SSL" "PLAINTEXT" $values.kafka.tls }}
- name: TURNGATE_KAFKA_PROTOCOL
  value: {{ if has $auth (list "scram" "token") }}SASL_{{ end }}{{ $tls }}
{{- if and $values.kafka.tls $values.kafka.caSecret.name }}
- name: TURNGATE_KAFKA_CA_FILE
  value: /run/kafka-ca/{{ $values.kafka.caSecret.key }}
{{- end }}
{{- if has $auth (list "scram" "certificate") }}
{{- if not .secret }}{{ fail (printf "kafka.auth is %s: name the secret with the login of %s (kafkaSecret)" $auth .role) }}{{ end }}
{{- end }}
{{- if eq $auth "scram" }}
- name: TURNGATE_KAFKA_SASL_MECHANISM
  value: {{ $values.kafka.mechanism }}
- name: TURNGATE_KAFKA_USERNAME
  valueFrom: {secretKeyRef: {name: {{ .secret }}, key: username}}
- name: TURNGATE_KAFKA_PASSWORD_FILE
  value: /run/kafka-login/password
{{- else if eq $auth "certificate" }}
- name: TURNGATE_KAFKA_CERTIFICATE_FILE
  value: /run/kafka-login/tls.crt
- name: TURNGATE_KAFKA_KEY_FILE
  value: /run/kafka-login/tls.key
{{- else if eq $auth "token" }}
- name: TURNGATE_KAFKA_SASL_MECHANISM
  value: OAUTHBEARER
- name: TURNGATE_KAFKA_TOKEN_FILE
  value: /run/kafka-login/token
{{- end }}
{{- if include "turngate.keyRing" . }}
- name: TURNGATE_KEY_RING
  value: /run/key-ring
- name: TURNGATE_KEY_RING_USE
  value: {{ $values.keyRing.use }}
{{- end }}
{{- if and $values.tracing.enabled (ne .role "topics") }}
- name: TURNGATE_TRACES
  value: "true"
{{- range $name, $value := $values.tracing.variables }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The secret with the keys, for those that read or write records. */}}
{{- define "turngate.keyRing" -}}
{{- if ne .role "topics" }}{{ .root.Values.keyRing.secret }}{{ end }}
{{- end }}

{{- define "turngate.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if and .root.Values.kafka.tls .root.Values.kafka.caSecret.name }}
- {name: kafka-ca, mountPath: /run/kafka-ca, readOnly: true}
{{- end }}
{{- if ne .root.Values.kafka.auth "none" }}
- {name: kafka-login, mountPath: /run/kafka-login, readOnly: true}
{{- end }}
{{- if include "turngate.keyRing" . }}
- {name: key-ring, mountPath: /run/key-ring, readOnly: true}
{{- end }}
{{- end }}

{{- define "turngate.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 256Mi}
{{- if and .root.Values.kafka.tls .root.Values.kafka.caSecret.name }}
- name: kafka-ca
  secret: {secretName: {{ .root.Values.kafka.caSecret.name }}, items: [{key: {{ .root.Values.kafka.caSecret.key }}, path: {{ .root.Values.kafka.caSecret.key }}}]}
{{- end }}
{{- if eq .root.Values.kafka.auth "token" }}
- name: kafka-login
  projected:
    sources:
      - serviceAccountToken: {path: token, audience: {{ .root.Values.kafka.tokenAudience }}, expirationSeconds: 3600}
{{- else if ne .root.Values.kafka.auth "none" }}
- name: kafka-login
  secret: {secretName: {{ .secret }}}
{{- end }}
{{- with include "turngate.keyRing" . }}
- name: key-ring
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}
