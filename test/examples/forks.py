"""Runs scripts in forks of one process: importing PyTorch takes longer than most of them.

The arguments are modules to import. Each line of standard input is an order: the script's folder, environment and
arguments, and sockets for its output, its errors, and its process number and exit code.
"""

import gc
import importlib
import json
import os
import runpy
import socket
import sys


def connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def become_script(order: dict) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(connect(order["stdout"]).detach(), 1)
    os.dup2(connect(order["stderr"]).detach(), 2)
    sys.stdout.reconfigure(write_through=True)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = order["args"]
    sys.path[0] = order["folder"]


def watch_script(order: dict) -> None:
    """In a process for each script, so that all of this may block."""
    control = connect(order["control"])
    child = os.fork()
    if child == 0:
        control.close()
        become_script(order)
        return
    control.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    control.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


for module in sys.argv[1:]:
    importlib.import_module(module)
# A collection in a fork would copy all that it has inherited.
gc.freeze()
for line in sys.stdin:
    if os.fork() == 0:
        watch_script(json.loads(line))
        runpy.run_path(sys.argv[0], run_name="__main__")
        sys.exit()
