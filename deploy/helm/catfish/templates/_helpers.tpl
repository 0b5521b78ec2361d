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

{{/* Members find each other by this service, and have its names. */}}
{{- define "catfish.members" -}}
{{ include "catfish.fullname" . }}-members
{{- end -}}

{{- define "catfish.coordinator" -}}
{{ include "catfish.fullname" . | trunc 40 | trimSuffix "-" }}-coordinator
{{- end -}}

{{- define "catfish.coordinatorSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-coordinator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Whether the chart runs coordinators: "true", or empty. */}}
{{- define "catfish.coordinates" -}}
{{- if and .Values.group.enabled (not .Values.coordinator.external) }}true{{ end -}}
{{- end -}}

{{/* Where the coordinators are, separated by commas; "other" for each other. */}}
{{- define "catfish.coordinators" -}}
{{- $all := list -}}
{{- range $i := until (int .Values.coordinator.replicas) -}}
{{- $name := include "catfish.coordinator" $ -}}
{{- $all = append $all (printf "%s-%d.%s.%s.svc:7120" $name $i $name $.Release.Namespace) -}}
{{- end -}}
{{- join "," (.Values.coordinator.external | default $all) -}}
{{- end -}}

{{- define "catfish.coordinatorMembers" -}}
{{- $all := list -}}
{{- range $i := until (int .Values.coordinator.replicas) -}}
{{- $name := include "catfish.coordinator" $ -}}
{{- $all = append $all (printf "%s-%d=%s-%d.%s.%s.svc:7121" $name $i $name $i $name $.Release.Namespace) -}}
{{- end -}}
{{- join "," $all -}}
{{- end -}}

{{/* What is wrong with the values of a group. */}}
{{- define "catfish.checkGroup" -}}
{{- if .Values.group.enabled -}}
{{- if not .Values.persistence.enabled }}{{ fail "group.enabled wants persistence.enabled" }}{{ end -}}
{{- if not .Values.ports.rpc.enabled }}{{ fail "group.enabled wants ports.rpc.enabled" }}{{ end -}}
{{- if and (include "catfish.keysSecret" .) (not .Values.group.keySecret) }}{{ fail "group.enabled with keys wants group.keySecret" }}{{ end -}}
{{- if and .Values.group.keySecret (not (include "catfish.keysSecret" .)) }}{{ fail "group.keySecret wants keys" }}{{ end -}}
{{- if and .Values.group.tls (not .Values.tls.existingSecret) }}{{ fail "group.tls wants tls.existingSecret" }}{{ end -}}
{{- if gt (int .Values.group.minInSync) (int .Values.group.members) }}{{ fail "group.minInSync is more than group.members" }}{{ end -}}
{{- if and .Values.coordinator.replace (eq (int .Values.coordinator.replicas) 1) }}{{ fail "coordinator.replace wants coordinator.replicas=3" }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The configuration file of serve. */}}
{{- define "catfish.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- range list "listen" "grpc" "http" "metrics" "data-dir" "keys" "tls-cert" "tls-key" "config" "coordinators" "coordinator-ca" "coordinator-cert" "coordinator-key" "coordinator-user" "coordinator-password-file" "group" "node" "advertise" "min-in-sync" "durable" "member-key-file" "member-ca" -}}
{{- if hasKey $config . -}}
{{- fail (printf "config.%s is set by the chart: see ports, persistence, keys, tls, group and coordinator in its values" .) -}}
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
{{- if .Values.group.enabled -}}
{{- $_ := set $config "coordinators" (splitList "," (include "catfish.coordinators" .)) -}}
{{- $_ := set $config "group" (.Values.group.name | default .Release.Name) -}}
{{- $_ := set $config "min-in-sync" (int (.Values.group.minInSync | default (ternary 1 2 (eq (int .Values.group.members) 2)))) -}}
{{- if .Values.group.durable -}}
{{- $_ := set $config "durable" true -}}
{{- end -}}
{{- if .Values.group.keySecret -}}
{{- $_ := set $config "member-key-file" "/etc/catfish/member/key" -}}
{{- end -}}
{{- if .Values.group.tls -}}
{{- $_ := set $config "member-ca" "/etc/catfish/tls/ca.crt" -}}
{{- end -}}
{{- if .Values.coordinator.tlsSecret -}}
{{- $_ := set $config "coordinator-ca" "/etc/catfish/coordinator/ca.crt" -}}
{{- $_ := set $config "coordinator-cert" "/etc/catfish/coordinator/tls.crt" -}}
{{- $_ := set $config "coordinator-key" "/etc/catfish/coordinator/tls.key" -}}
{{- end -}}
{{- if .Values.coordinator.user -}}
{{- $_ := set $config "coordinator-user" .Values.coordinator.user -}}
{{- if .Values.coordinator.passwordSecret -}}
{{- $_ := set $config "coordinator-password-file" "/etc/catfish/coordinator-user/password" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* Pods of some labels on different nodes. */}}
{{- define "catfish.spread" -}}
{{- if eq .how "required" -}}
affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- .labels | nindent 12 }}
{{- else if eq .how "preferred" -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- .labels | nindent 14 }}
{{- end -}}
{{- end -}}

{{/* Names of pods are asked for. */}}
{{- define "catfish.dns" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end -}}
