#!/usr/bin/env bash
# The lab's clients and wrk load one nginx in turn: do they see the same rate? nginx, because it costs more for each
# request than either of them, so that the server is the limit of both. Needs two cores and quiet. Arguments are passed on:
# `bench/cross-check.sh --pairs 10`.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in wrk nginx; do
  if ! command -v "$tool" >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends wrk nginx-light
    break
  fi
done
cargo build --quiet --release -p corepool-lab
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c 4096 /dev/zero | tr '\0' x >"$folder/index.html"
# One worker, which stays where the lab puts it, and a file of 4 KiB for every request.
cat >"$folder/serve" <<SERVE
#!/bin/sh
cat >"$folder/\$2.conf" <<CONFIGURATION
daemon off; master_process off; pid $folder/\$2.pid; error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000; client_body_temp_path $folder; proxy_temp_path $folder;
  fastcgi_temp_path $folder; uwsgi_temp_path $folder; scgi_temp_path $folder;
  server { listen \$1:\$2; root $folder; }
}
CONFIGURATION
exec nginx -e stderr -p "$folder" -c "$folder/\$2.conf"
SERVE
chmod +x "$folder/serve"
"${CARGO_TARGET_DIR:-target}/release/corepool-lab" cross-check --system "$folder/serve {host} {port}" "$@"
