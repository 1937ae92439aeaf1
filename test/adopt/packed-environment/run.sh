#!/bin/bash
set -e
chmod +x environment-0a1b2c3d.sh
./environment-0a1b2c3d.sh
source activate.sh
tar -xzf digits.tar.gz
time python ./code/mnist.py --epochs 14
