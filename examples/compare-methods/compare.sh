#!/bin/sh
# Submits every method once with each seed, in turns, so that a bad moment of the pool hits all alike. Called again
# after an interruption, it submits what is missing: each run has the name of its method and seed.
set -eu
origin=$1
repeats=${2:-5}
for seed in $(seq "$repeats"); do
  for method in native https osdf on-demand; do
    set -- runs/"$method-$seed"-*
    if [ -d "$1" ]; then continue; fi
    case $method in
      native) url=published/set.tar ;;
      https) url=$origin/methods/set.tar ;;
      osdf) url=osdf:///methods/set.tar ;;
      on-demand) url='osdf:///methods/set-{000000..000007}.tar' ;;
    esac
    keep=$([ "$method" != on-demand ] || echo '--set data.set.keep=100MB')
    # shellcheck disable=SC2086
    updraft submit --set name="$method-$seed" --set train.env.SEED="$seed" \
      --set data.set.method="$method" --set data.set.url="$url" $keep
  done
done
