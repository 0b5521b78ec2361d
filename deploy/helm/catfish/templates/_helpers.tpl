{{- define "catfish.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "catfish.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "catfish.labels" -}}
{{ include "catfish.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "catfish.keysSecret" -}}
{{- if .Values.keys.existingSecret -}}
{{- .Values.keys.existingSecret -}}
{{- else if .Values.keys.text -}}
{{- include "catfish.fullname" . }}-keys
{{- end -}}
{{- end -}}

{{- define "catfish.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "catfish.fullname" .) -}}
{{- end -}}

{{/* The configuration file of serve. */}}
{{- define "catfish.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- range list "listen" "grpc" "http" "metrics" "data-dir" "keys" "tls-cert" "tls-key" "config" -}}
{{- if hasKey $config . -}}
{{- fail (printf "config.%s is set by the chart: see ports, persistence, keys and tls in its values" .) -}}
{{- end -}}
{{- end -}}
{{- if not .Values.ports.rpc.enabled -}}
{{- $_ := set $config "listen" "127.0.0.1:7119" -}}
{{- else -}}
{{- $_ := set $config "listen" (printf "0.0.0.0:%d" (int .Values.ports.rpc.port)) -}}
{{- end -}}
{{- range $name := list "grpc" "http" "metrics" -}}
{{- $port := get $.Values.ports $name -}}
{{- if $port.enabled -}}
{{- $_ := set $config $name (printf "0.0.0.0:%d" (int $port.port)) -}}
{{- end -}}
{{- end -}}
{{- if .Values.persistence.enabled -}}
{{- $_ := set $config "data-dir" "/data/catfish" -}}
{{- end -}}
{{- if include "catfish.keysSecret" . -}}
{{- $_ := set $config "keys" "/etc/catfish/keys/keys" -}}
{{- end -}}
{{- if .Values.tls.existingSecret -}}
{{- $_ := set $config "tls-cert" "/etc/catfish/tls/tls.crt" -}}
{{- $_ := set $config "tls-key" "/etc/catfish/tls/tls.key" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
