#!/bin/sh
set -e
python3 train.py
