"""python3 with_ray.py SLOTS: the trials in TRIALS, by Ray Tune's ASHA; one that dies is restored from its checkpoint."""

import json
import os
import sys
import tempfile

os.environ.update(OMP_NUM_THREADS="1", RAY_AIR_NEW_OUTPUT="0", RAY_USAGE_STATS_ENABLED="0")
# Its workers are nicer than all others, and on a busy machine do not start in time.
os.environ["RAY_worker_niceness"] = "0"
import numpy as np  # noqa: E402
import ray  # noqa: E402
from ray import tune  # noqa: E402
from ray.tune.schedulers import ASHAScheduler  # noqa: E402
from trial import EPOCHS, METRIC, Training, read_trials  # noqa: E402


def train(config):
    np.seterr(all="ignore")
    training = Training(config["index"], read_trials()[config["index"]])
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            training.load(folder)
    for epoch, accuracy in training.epochs():
        with tempfile.TemporaryDirectory() as folder:
            training.save(folder)
            saved = tune.Checkpoint.from_directory(folder)
            tune.report({METRIC: accuracy, "epoch": epoch}, checkpoint=saved)


here = os.getcwd()
ray.init(
    num_cpus=int(sys.argv[1]),
    include_dashboard=False,
    logging_level="ERROR",
    log_to_driver=False,
    object_store_memory=100_000_000,
    runtime_env={"env_vars": {"PYTHONPATH": os.path.dirname(os.path.abspath(__file__))}},
)
asha = ASHAScheduler(time_attr="epoch", max_t=EPOCHS, grace_period=1, reduction_factor=3)
found = tune.Tuner(
    tune.with_resources(train, {"cpu": 1}),
    param_space={"index": tune.grid_search(list(range(len(read_trials()))))},
    tune_config=tune.TuneConfig(metric=METRIC, mode="max", scheduler=asha),
    run_config=tune.RunConfig(
        name="peers",
        storage_path=os.path.join(here, "ray"),
        verbose=0,
        failure_config=tune.FailureConfig(max_failures=-1),
        checkpoint_config=tune.CheckpointConfig(num_to_keep=2),
    ),
).fit()
ended = sorted(one.config["index"] for one in found if one.error is None)
rungs = [len(recorded) for _, recorded in reversed(asha._brackets[0]._rungs)]
print(json.dumps({"ended": ended, "rungs": rungs[:3]}))
ray.shutdown()
