#!/bin/bash
unzip train.zip -d data/
rm train.zip
python train.py \
  --data-dir data/ \
  --checkpoint-every 5
  --epochs 20
exit $?
