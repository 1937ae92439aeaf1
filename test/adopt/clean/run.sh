#!/bin/bash
set -euo pipefail
mkdir -p data
tar -xf cifar-10-v2.tar -C data
python3 train.py --data data "$@" | tee train.log
rm -rf data
