#!/usr/bin/env bash
# Lints the chart and renders it, as it is, with everything that one server has, and as a group: what
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
$helm lint --strict --quiet "$chart" --values $kept/group.values.yaml
$helm template places "$chart" --namespace geo >"$out/default.yaml"
$helm template places "$chart" --namespace geo --values $kept/group.values.yaml >"$out/group.yaml"
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
refused --set config.node=n1
refused --set group.enabled=true --set persistence.enabled=false
refused --set group.enabled=true --set ports.rpc.enabled=false
refused --set group.enabled=true --set keys.existingSecret=k
refused --set group.enabled=true --set group.keySecret=k
refused --set group.enabled=true --set group.tls=true
refused --set group.enabled=true --set group.members=1
refused --set group.enabled=true --set group.minInSync=4
refused --set group.enabled=true --set coordinator.replicas=2
refused --set group.enabled=true --set coordinator.replicas=1 --set coordinator.replace=true
# A lost coordinator is replaced among those at the ports for servers.
replaced=$($helm template places "$chart" --namespace geo --set group.enabled=true --set coordinator.replace=true)
grep -A 1 -- '- --replace' <<<"$replaced" | grep -q 'coordinator-2.places-catfish-coordinator.geo.svc:7120' || { echo "no coordinators for --replace" >&2; exit 1; }
# An etcd that exists already: no coordinators are run.
external=$($helm template places "$chart" --set group.enabled=true --set 'coordinator.external={etcd:2379}' --set coordinator.user=u --set coordinator.passwordSecret=p)
grep -q 'etcd:2379' <<<"$external" && grep -q coordinator-password-file <<<"$external" || { echo "no external coordinator" >&2; exit 1; }
! grep -q 'catfish-coordinator' <<<"$external" || { echo "coordinators beside an external one" >&2; exit 1; }

for file in default all group; do
	diff -u "$kept/$file.yaml" "$out/$file.yaml" ||
		{ echo "$kept/$file.yaml is not what helm renders: make helm HELMFLAGS=--update" >&2; exit 1; }
done
