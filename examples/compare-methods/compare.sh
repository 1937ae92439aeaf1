#!/bin/sh
# Makes the data, starts the mini federation with its trouble and the mini pool, runs all jobs, and writes table.md and
# charts/. Options go to `updraft run`: sh compare.sh --set run.repeat=2
set -eu
cd "$(dirname "$0")"
python3 make_data.py
# A state of its own: a mini pool or federation of yours goes on.
XDG_STATE_HOME=$(mktemp -d)
export XDG_STATE_HOME
trap 'updraft mini pool down || :; updraft mini federation down || :; rm -rf "$XDG_STATE_HOME"' EXIT
exports=$(updraft mini federation up --publish /methods=published --http --detach \
  --trouble 'caches: stall after 1MB on *.tar every 5' --trouble 'origin: reset after 2MB on set.tar every 3')
eval "$exports"
# The origin's port is a new one each time.
origin=$(updraft mini federation status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["origin"]["httpUrl"])')
sed "s#http://127.0.0.1:8080#$origin#" updraft.toml > here.toml
exports=$(updraft mini pool up)
eval "$exports"
export UPDRAFT_STALL_SECONDS=5 # so that stalls are given up soon
updraft run here.toml "$@"
updraft compare --metric time transfer setbacks --markdown > table.md
updraft compare --metric time transfer setbacks --svg charts
