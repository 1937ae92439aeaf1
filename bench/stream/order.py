"""How well a stream is shuffled, against a true permutation and other loaders' ways.

    PYTHONPATH=python python3 bench/stream/order.py

100 shards of 400 samples, 40 classes; batches of 256; the mean of five epochs. Sorted: each class is in its own shards, as
strangers may have them. Mixed: classes are in random places, as `updraft stage --shuffle` packs them.
"""

import random
import statistics

import updraft

SHARDS, PER_SHARD, CLASSES, BATCH, EPOCHS = 100, 400, 40, 256, 5
SAMPLES = SHARDS * PER_SHARD


def stream(block):
    """updraft.Stream's own order, without its files."""
    one = updraft.Stream.__new__(updraft.Stream)
    one._shards = type("Shards", (), {"names": range(SHARDS)})()
    one._seed, one._shuffle, one._block = 0, True, block

    def order(epoch):
        for number, shards in enumerate(one._blocks(epoch)):
            samples = [shard * PER_SHARD + nth for shard in shards for nth in range(PER_SHARD)]
            random.Random(f"0 {epoch} {number}").shuffle(samples)
            yield from samples

    return order


def permutation(epoch):
    samples = list(range(SAMPLES))
    random.Random(epoch).shuffle(samples)
    return samples


def shuffled_shards(epoch):
    shards = list(range(SHARDS))
    random.Random(epoch).shuffle(shards)
    return [shard * PER_SHARD + nth for shard in shards for nth in range(PER_SHARD)]


def one_shard(epoch):
    """MosaicML's py1s: shards permuted, samples within each."""
    return stream(1)(epoch)


def buffer(size):
    """WebDataset's and many others' way: a random one of the next `size` samples."""

    def order(epoch):
        chance, held = random.Random(epoch), []
        for sample in shuffled_shards(epoch):
            held.append(sample)
            if len(held) > size:
                place = chance.randrange(len(held))
                held[place], held[-1] = held[-1], held[place]
                yield held.pop()
        chance.shuffle(held)
        yield from held

    return order


def spread(size):
    """MosaicML's py1e: each sample is moved by up to half of the block size from its place in the shuffled shards."""

    def order(epoch):
        chance = random.Random(epoch)
        moved = [(place + chance.uniform(-size / 2, size / 2), sample) for place, sample in enumerate(shuffled_shards(epoch))]
        return [sample for _, sample in sorted(moved)]

    return order


def measure(order):
    neighbours, missing, skew = [], [], []
    for epoch in range(1, EPOCHS + 1):
        samples = list(order(epoch))
        assert sorted(samples) == list(range(SAMPLES))
        same = sum(one // PER_SHARD == other // PER_SHARD for one, other in zip(samples, samples[1:]))
        neighbours.append(100 * same / (SAMPLES - 1))
        labels = [sample * CLASSES // SAMPLES for sample in samples]
        for first in range(0, SAMPLES - BATCH, BATCH):
            batch = labels[first : first + BATCH]
            counts = [batch.count(label) for label in range(CLASSES)]
            missing.append(counts.count(0))
            skew.append(statistics.pstdev(counts))
    return statistics.mean(neighbours), statistics.mean(missing), statistics.mean(skew)


def main():
    ways = {
        "a true permutation": permutation,
        "Stream, block of 16 shards": stream(16),
        "Stream, block of 8 shards": stream(8),
        "Stream, block of 4 shards": stream(4),
        "spread over 16 shards (py1e's way)": spread(16 * PER_SHARD),
        "buffer of 5,000 samples (WebDataset's way)": buffer(5000),
        "within each shard (py1s's way)": one_shard,
    }
    print("| | neighbours of the same shard, % | classes missing in a batch, of 40 | deviation of a class's count |")
    print("| --- | ---: | ---: | ---: |")
    for name, order in ways.items():
        print("| {} | {:.1f} | {:.1f} | {:.1f} |".format(name, *measure(order)))


if __name__ == "__main__":
    main()
