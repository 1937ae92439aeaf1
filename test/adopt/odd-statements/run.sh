echo no interpreter
python3 work.py | tee work.log
