"""python3 with_optuna.py journal|sqlite SLOTS: the trials in TRIALS, by Optuna's successive halving, in worker processes.

A worker that is killed is started again, as a pool would. With `journal`, the file that Optuna recommends for shared
disks, its trial stays RUNNING: only a database has heartbeats. With `sqlite` there are heartbeats, which queue a trial
again, and its checkpoint is found by the number of its first try, as Optuna's example does.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import optuna
from optuna.storages import JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from trial import EPOCHS, Training, read_trials

kind, slots = sys.argv[1], int(sys.argv[2])
optuna.logging.set_verbosity(optuna.logging.ERROR)
np.seterr(all="ignore")


def open_storage():
    if kind == "journal":
        return JournalStorage(JournalFileBackend("study.log"))
    again = RetryHeartbeatStaleTrialCallback(inherit_intermediate_values=True)
    settings = {"heartbeat_interval": 1, "grace_period": 15, "heartbeat_stale_trial_callback": again}
    # Several processes may wait for each other's writes.
    engine = {"connect_args": {"timeout": 60}}
    return RDBStorage("sqlite:///study.db", engine_kwargs=engine, **settings)


def objective(trial):
    number = trial.user_attrs.get("index")
    if number is None:
        # Another worker has taken the last one, and Optuna made one up.
        raise optuna.TrialPruned
    folder = Path(f"checkpoint-{number}")
    folder.mkdir(exist_ok=True)
    training = Training(number, read_trials()[number])
    if (folder / "state.npz").exists():
        training.load(folder)
    accuracy = None
    for epoch, accuracy in training.epochs():
        training.save(folder)
        trial.report(accuracy, epoch)
        if epoch < EPOCHS and trial.should_prune():
            raise optuna.TrialPruned
    return accuracy


def open_study():
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    return optuna.create_study(
        storage=open_storage(), study_name="peers", direction="maximize", pruner=pruner, load_if_exists=True
    )


def work():
    study = open_study()
    while True:
        if kind == "sqlite":
            optuna.storages.fail_stale_trials(study)
        states = [one.state for one in study.get_trials(deepcopy=False)]
        if TrialState.WAITING in states:
            study.optimize(objective, n_trials=1)
        elif kind == "sqlite" and TrialState.RUNNING in states:
            time.sleep(0.5)
        else:
            return


def main():
    study = open_study()
    for number, trial in enumerate(read_trials()):
        study.enqueue_trial(trial, user_attrs={"index": number})
    words = [sys.executable, __file__, kind, str(slots), "work"]
    workers = [subprocess.Popen(words) for _ in range(slots)]
    while any(workers):
        for at, worker in enumerate(workers):
            status = worker and worker.poll()
            if status == 0:
                workers[at] = None
            elif status is not None:
                workers[at] = subprocess.Popen(words)
        time.sleep(0.1)
    ended, values = set(), []
    for one in study.get_trials(deepcopy=False):
        if "index" not in one.user_attrs:
            continue
        if one.state in (TrialState.PRUNED, TrialState.COMPLETE):
            ended.add(one.user_attrs["index"])
        values.extend(name for name in one.system_attrs if name.startswith("completed_rung_"))
    rungs = [values.count(f"completed_rung_{rung}") for rung in range(3)]
    print(json.dumps({"ended": sorted(ended), "rungs": rungs}))


os.environ["OMP_NUM_THREADS"] = "1"
if "work" in sys.argv:
    work()
else:
    main()
