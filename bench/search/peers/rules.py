"""python3 rules.py optuna|ray < SEARCHES: searches over recorded curves, simulated, by the decisions of one of them.

Each search is a list of curves, in the order in which its trials start on four slots. Prints of each the epochs that
were trained, and the best value.
"""

import heapq
import json
import random
import sys

SLOTS, EPOCHS = 4, 27


def by_optuna():
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    trials = {}

    def goes_on(number, epoch, value):
        trial = trials.get(number) or trials.setdefault(number, study.ask())
        trial.report(value, epoch)
        return not trial.should_prune()

    return goes_on


def by_ray():
    from ray.tune.schedulers.async_hyperband import _Bracket

    class Trial:
        def __init__(self, number):
            self.trial_id = number

    bracket = _Bracket(1, EPOCHS, 3, 0)
    return lambda number, epoch, value: bracket.on_result(Trial(number), epoch, value) != "STOP"


def search(goes_on, curves, seed):
    draw = random.Random(seed)
    waiting, epochs, best = list(range(len(curves)))[::-1], 0, 0

    def start(now):
        if waiting:
            # A machine is up to twice as slow as another.
            slowness = 2 ** (draw.random() - 0.5)
            heapq.heappush(running, (now + slowness, waiting.pop(), 1, slowness))

    running = []
    for _ in range(SLOTS):
        start(0)
    while running:
        now, number, epoch, slowness = heapq.heappop(running)
        value = curves[number][epoch - 1]
        epochs, best = epochs + 1, max(best, value)
        if goes_on(number, epoch, value) and epoch < EPOCHS:
            heapq.heappush(running, (now + slowness, number, epoch + 1, slowness))
        else:
            start(now)
    return {"epochs": epochs, "best": best}


make = {"optuna": by_optuna, "ray": by_ray}[sys.argv[1]]
print(json.dumps([search(make(), curves, seed) for seed, curves in enumerate(json.load(sys.stdin))]))
