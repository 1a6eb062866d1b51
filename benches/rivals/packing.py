"""Rivals of crates/packing, as trainers written in Python do these things; prints one JSON object.

packing.py plan    seconds to plan 100,000 samples: first-fit decreasing as a list scan and with a segment tree
packing.py codec   seconds per million tokens to encode and decode micro-batches of boxed lists with msgspec
"""

import json
import math
import random
import sys
import time

SEQ_LEN = 32768
SAMPLES = 100_000


def best(rounds, call):
    shortest = math.inf
    for _ in range(rounds):
        started = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest


def log_normal_lengths():
    draw = random.Random(7)
    return [min(max(int(draw.lognormvariate(math.log(1000) - 0.5, 1.0)), 1), SEQ_LEN) for _ in range(SAMPLES)]


def list_scan(lengths):
    bins, room = [], []
    for sample in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        length = lengths[sample]
        for at, free in enumerate(room):
            if free >= length:
                bins[at].append(sample)
                room[at] = free - length
                break
        else:
            bins.append([sample])
            room.append(SEQ_LEN - length)
    return bins


def segment_tree(lengths):
    leaves = 1 << max(1, (len(lengths) - 1).bit_length())
    room, bins = [SEQ_LEN] * (2 * leaves), []
    for sample in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        length, node = lengths[sample], 1
        while node < leaves:
            node *= 2
            if room[node] < length:
                node += 1
        if node - leaves == len(bins):
            bins.append([])
        bins[node - leaves].append(sample)
        room[node] -= length
        node >>= 1
        while node:
            larger = max(room[2 * node], room[2 * node + 1])
            if room[node] == larger:
                break
            room[node] = larger
            node >>= 1
    return bins


def plan():
    lengths = log_normal_lengths()
    assert list_scan(lengths[:5000]) == segment_tree(lengths[:5000])
    return {
        "python segment tree": best(3, lambda: segment_tree(lengths)),
        "python list scan": best(1, lambda: list_scan(lengths)),
    }


def codec():
    import msgspec

    # The fields of prime-rl's micro-batch that are always there, in its order.
    class MicroBatch(msgspec.Struct, array_like=True, gc=False):
        input_ids: list[int]
        loss_mask: list[bool]
        advantages: list[float]
        inference_logprobs: list[float]
        position_ids: list[int]
        sequence_lengths: list[int]
        temperatures: list[float]
        env_names: list[str]
        seq_lens: list[int]

    draw = random.Random(0)
    tokens, length, count = 32768, 1024, 16

    def micro_batch():
        lengths = [length] * (tokens // length)
        advantages = [draw.gauss(0, 1) for _ in lengths]
        return MicroBatch(
            [draw.randrange(150_000) for _ in range(tokens)],
            [draw.random() < 0.7 for _ in range(tokens)],
            [advantage for advantage in advantages for _ in range(length)],
            [-draw.expovariate(2) for _ in range(tokens)],
            list(range(length)) * len(lengths),
            lengths,
            [1.0] * tokens,
            ["reverse-text"] * tokens,
            lengths,
        )

    batches = [micro_batch() for _ in range(count)]
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(list[MicroBatch])
    encoded = encoder.encode(batches)
    per_million = 1e6 / (tokens * count)
    return {
        "encode": best(5, lambda: encoder.encode(batches)) * per_million,
        "decode": best(5, lambda: decoder.decode(encoded)) * per_million,
        "bytes per token": len(encoded) / (tokens * count),
    }


print(json.dumps({"plan": plan, "codec": codec}[sys.argv[1]]()))
