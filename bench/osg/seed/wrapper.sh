#!/bin/bash
# As in the published runs: nothing stops on an error, and the status is that of the clean-up.
mkdir data
mv train.tar data/
cd data
tar -xf train.tar > /dev/null 2>&1
rm -f train.tar
for archive in *.tar; do
  mkdir -p "${archive%.tar}"
  tar -xf "$archive" -C "${archive%.tar}" > /dev/null 2>&1
  rm -f "$archive"
done
cd ..
python3 train.py --seed "$1" --weights-url "$2" --save-model model.json
rm -rf data weights.json
