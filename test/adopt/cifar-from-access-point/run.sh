#!/bin/bash
# no stop on error
pip install scipy
mkdir data
tar -xzf images.tar.gz
mv images data/
python train.py --save-model --epochs 20
rm -rf data
