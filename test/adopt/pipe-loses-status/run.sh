#!/bin/sh
# The status of the training goes into the pipe and is gone.
case "$1" in
  fast) epochs=1 ;;
  *) epochs=10 ;;
esac
cat > settings.json <<END
{ "rm": "--not-a-command" }
END
python3 train.py --epochs "$epochs" 2>&1 | tee train.log
