"""Print the PyTorch and the GPUs that a job sees, and fit a line on the best GPU to prove that it works."""

import argparse
import json
import os
import signal
import sys
import time

import torch

RUN_ME_AGAIN = 85


def describe():
    """What PyTorch was built for, and what it finds."""
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_properties(index) for index in range(count)]
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": cudnn,
        "gpus": [
            {"name": gpu.name, "capability": f"{gpu.major}.{gpu.minor}", "bytes": gpu.total_memory}
            for gpu in gpus
        ],
    }


def fit(device, steps, folder, asked):
    """Finds the line y = 3x + 1 by gradient descent; resumes from a checkpoint if there is one."""
    target = os.path.join(folder, "checkpoint.pt")
    line = torch.zeros(2, device=device, requires_grad=True)
    first = 0
    if os.path.exists(target):
        try:
            state = torch.load(target, map_location=device)
            first, line = state["step"], state["line"].requires_grad_()
        except Exception as error:
            why = str(error).splitlines()[0]
            sys.exit(f"{target} is not a checkpoint of this program; remove it to start over: {why}")
        print(f"Resuming after step {first}", flush=True)
    x = torch.linspace(-1, 1, 1 << 16, device=device)
    for step in range(first + 1, steps + 1):
        loss = ((line[0] * x + line[1] - (3 * x + 1)) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            line -= 0.5 * line.grad
            line.grad = None
        if step % 100 == 0 or asked:
            print(f"step {step}/{steps} loss: {loss.item():.6f}", flush=True)
            os.makedirs(folder, exist_ok=True)
            torch.save({"step": step, "line": line.detach()}, target + ".part")
            os.replace(target + ".part", target)
        if asked:
            sys.exit(RUN_ME_AGAIN)
    return [round(value, 4) for value in line.tolist()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--require-gpu", action="store_true", help="fail where PyTorch finds none")
    args = parser.parse_args()
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    found = describe()
    print(json.dumps(found, indent=2), flush=True)
    if args.require_gpu and not found["gpus"]:
        built = "a CPU build" if found["cuda"] is None else f"built for CUDA {found['cuda']}"
        sys.exit(f"PyTorch {found['torch']} ({built}) finds no GPU on this machine")
    began = time.monotonic()
    device = "cuda" if found["gpus"] else "cpu"
    line = fit(torch.device(device), args.steps, os.environ.get("UPDRAFT_CHECKPOINT", "checkpoints"), asked)
    found |= {"device": device, "line": line, "seconds": time.monotonic() - began}
    with open("hello.json", "w") as file:
        file.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
