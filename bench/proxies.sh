#!/usr/bin/env bash
# The proxies of corepool against twemproxy, HAProxy, and one written by hand: CPU time per request with intervals.
# Needs a quiet machine with two cores or more. `bench/proxies.sh --only twemproxy --pairs 12` measures a part of it.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in redis-server redis-benchmark nutcracker haproxy taskset; do
  if ! command -v "$tool" >/dev/null; then
    apt-get update && apt-get install -y --no-install-recommends redis-server redis-tools nutcracker haproxy util-linux
    break
  fi
done
cargo build --quiet --release -p corepool-redis-proxy -p corepool-tcp-proxy -p corepool-lab-proxies
exec "${CARGO_TARGET_DIR:-target}/release/corepool-lab-proxies" compare "$@"
