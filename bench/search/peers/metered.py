"""python3 metered.py OUT LIMIT COMMAND…: runs a command; OUT gets the CPU seconds of it and of all that it started.

What outlives its parent becomes a child of this process, which waits for it. All are killed after LIMIT seconds, and
what the command leaves a minute after its end.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def descendants(pid):
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for child in map(int, (task / "children").read_text().split()):
            yield from descendants(child)
            yield child


ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
began = time.monotonic()
until, ended, status = began + float(sys.argv[2]), None, None
command = os.spawnvp(os.P_NOWAIT, sys.argv[3], sys.argv[3:])
while True:
    try:
        pid, result = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        break
    if pid == command:
        ended, status = time.monotonic(), result
        until = ended + 60
    elif pid == 0:
        time.sleep(0.1)
    if time.monotonic() > until:
        for one in list(descendants(os.getpid())):
            os.kill(one, signal.SIGKILL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    json.dump({"cpu": used.ru_utime + used.ru_stime, "wall": ended - began, "status": status}, file)
