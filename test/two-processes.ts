/**
 * A training of two processes, whose first job waits, in the second process, where a test evicts it: far apart. The
 * result has all losses of the first process, and the weights. It starts its processes itself if nobody has.
 */
export const twoProcesses = `
import json, os, random, sys, time
import torch
import updraft

class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, index):
        return torch.full((8,), index / 32) + 0.1 * torch.rand(8), index

def wait_at(attempt, place):
    mark = os.path.join(os.environ["MARKS"], place)
    if os.environ["UPDRAFT_JOB"] == "0000" and place in ("0-3", "8-5") and not os.path.exists(mark):
        open(mark, "w").close()
        while not attempt.is_asked_to_leave:
            time.sleep(0.05)

def network():
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1))

def train(accelerator=None):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    if accelerator is None:
        torch.distributed.init_process_group("gloo")
    rank, model = torch.distributed.get_rank(), network()
    model = torch.nn.parallel.DistributedDataParallel(model) if accelerator is None else accelerator.prepare(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Samples(), batch_size=4, shuffle=True)
    losses = []
    with updraft.training(model, optimizer, losses=losses) as run:
        for epoch in run.epochs(12):
            for step, (images, labels) in run.enumerate(loader):
                optimizer.zero_grad()
                loss = (model(images).squeeze(1) - labels / 32).pow(2).mean()
                loss.backward() if accelerator is None else accelerator.backward(loss)
                optimizer.step()
                losses.append([labels.tolist(), loss.item()])
                run.log(loss=loss)
                if rank == 1:
                    wait_at(run._attempt, f"{epoch}-{step}")
    if rank == 0:
        json.dump({"losses": losses, "weights": [one.tolist() for one in model.parameters()]}, open("model.pt", "w"))

def spawned(rank, port):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    train()
`;

/** The losses of all 12 epochs of 8 batches are there. */
export const lossesOf = (result: string): [number[], number][] =>
  (JSON.parse(result) as { losses: [number[], number][] }).losses;
