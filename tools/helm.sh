#!/usr/bin/env bash
# Lints the chart and renders it, as it is and with everything that it has: what
# deploy/helm/rendered has must be that. With --update it is written anew.
# HELM is the program, of version 3 or 4.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=${HELM:-helm}
chart=deploy/helm/catfish
kept=deploy/helm/rendered
# Only text: nothing asks a cluster, and no plugin is looked for.
export HELM_PLUGINS=/nonexistent KUBECONFIG=/dev/null

out=$kept
if [[ ${1:-} != --update ]]; then
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
fi
$helm lint --strict --quiet "$chart"
$helm lint --strict --quiet "$chart" --values $kept/all.values.yaml
$helm template places "$chart" --namespace geo >"$out/default.yaml"
$helm template places "$chart" --namespace geo --values $kept/all.values.yaml >"$out/all.yaml"

# What must be refused is.
refused() {
	if $helm template places "$chart" "$@" >/dev/null 2>&1; then
		echo "helm took $*" >&2
		exit 1
	fi
}
refused --set config.listen=0.0.0.0:1
refused --set serviceMonitor.enabled=true --set ports.metrics.enabled=false
refused --set ports.http.port=0
refused --set ports.htp.port=80
refused --set persistence.enabled=maybe

for file in default all; do
	diff -u "$kept/$file.yaml" "$out/$file.yaml" ||
		{ echo "$kept/$file.yaml is not what helm renders: make helm HELMFLAGS=--update" >&2; exit 1; }
done
