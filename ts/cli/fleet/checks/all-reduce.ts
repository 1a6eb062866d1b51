/**
 * How fast the GPUs of a host add their gradients: an all-reduce of NCCL, by the PyTorch of the torch backend, one process for each GPU.
 *
 * The number is the bus bandwidth, 2 (n - 1) / n × bytes / time, which does not depend on the number of GPUs. It says nothing of the network between
 * hosts.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createServer } from "node:net";
import type { Readable } from "node:stream";

import { untilAborted, withDeadline } from "../../../async/deadline.ts";
import { messageOf } from "../../../errors.ts";
import { cachedInterpreter } from "../../../python/index.ts";
import { type Check, ok, problem, warning } from "../../doctor/check.ts";

const NAME = "All-reduce";
const BYTES = 256 * 1024 ** 2;
const ROUNDS = 10;
/** Starting CUDA and NCCL in each process takes most of it. */
const DEADLINE_MS = 120_000;
/** Less than a PCIe 3.0 slot gives (GB/s): something is in the way. */
const SLOW_GBS = 5;
const MOST_OUTPUT = 16 * 1024;

/** Rank, number of ranks, port, backend, bytes and rounds are its arguments. Rank 0 prints the seconds of a round. */
const PROGRAM = `
import os, sys, time
import torch
import torch.distributed as dist
rank, world, port, backend, size, rounds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
if backend == "nccl":
    torch.cuda.set_device(device)
dist.init_process_group(backend, rank=rank, world_size=world)
values = torch.full((size // 4,), float(rank + 1), device=device)
def wait():
    if backend == "nccl":
        torch.cuda.synchronize()
    dist.barrier()
dist.all_reduce(values)
expected = world * (world + 1) / 2
if not bool((values == expected).all()):
    sys.exit("the sum is wrong")
wait()
began = time.perf_counter()
for _ in range(rounds):
    dist.all_reduce(values)
wait()
if rank == 0:
    print((time.perf_counter() - began) / rounds)
dist.destroy_process_group()
`;

export interface AllReduce {
  readonly python: string;
  readonly ranks: number;
  readonly backend: "nccl" | "gloo";
  readonly bytes: number;
  readonly rounds: number;
  /** Aborted: the processes are ended. */
  readonly gone: AbortSignal;
}

type RankProcess = ChildProcessByStdio<null, Readable, Readable>;

export async function allReduceCheck(gpus: number, cache: string, gone: AbortSignal): Promise<Check> {
  if (gpus < 2) return ok(NAME, gpus === 0 ? "not measured: no GPUs" : "not measured: there is one GPU");
  const python = await cachedInterpreter("torch", cache);
  if (python === null) {
    return warning(NAME, "not measured: there is no PyTorch", "run `npx prl python setup torch` on the host");
  }
  try {
    const rate = await busBandwidth({ python, ranks: gpus, backend: "nccl", bytes: BYTES, rounds: ROUNDS, gone });
    const detail = `NCCL over ${gpus} GPUs: ${rate.toFixed(1)} GB/s`;
    if (rate >= SLOW_GBS) return ok(NAME, detail);
    return warning(
      NAME,
      detail,
      "see nvidia-smi topo -m, and NCCL_DEBUG=INFO: peer-to-peer access is off, or a link is down",
    );
  } catch (error) {
    return problem(NAME, `NCCL failed: ${messageOf(error)}`, "run the host's own NCCL tests with NCCL_DEBUG=INFO");
  }
}

/** In 10^9 bytes a second. Rejects with what the first rank that failed said. */
export async function busBandwidth(asked: AllReduce): Promise<number> {
  const { ranks, bytes, gone } = asked;
  const port = await freePort();
  const children: RankProcess[] = [];
  const late = () => new Error(`no result within ${DEADLINE_MS / 1000} s`);
  try {
    const runs = Array.from({ length: ranks }, (_, rank) => {
      const child = startRank(rank, port, asked);
      children.push(child);
      return printed(child, rank);
    });
    const [seconds = ""] = await withDeadline(untilAborted(Promise.all(runs), gone), DEADLINE_MS, late);
    const time = Number(seconds.trim());
    if (!(time > 0)) throw new Error(`rank 0 printed ${JSON.stringify(seconds.slice(0, 80))}`);
    return ((2 * (ranks - 1)) / ranks) * (bytes / time / 1e9);
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

function startRank(rank: number, port: number, asked: AllReduce): RankProcess {
  const { python, ranks, backend, bytes, rounds } = asked;
  const args = ["-c", PROGRAM, ...[rank, ranks, port, backend, bytes, rounds].map(String)];
  return spawn(python, args, { stdio: ["ignore", "pipe", "pipe"] });
}

function printed(child: RankProcess, rank: number): Promise<string> {
  const said = { out: "", error: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out = (said.out + chunk.toString("utf8")).slice(-MOST_OUTPUT)));
  child.stderr.on("data", (chunk: Buffer) => (said.error = (said.error + chunk.toString("utf8")).slice(-MOST_OUTPUT)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      const [last = ""] = said.error.trim().split("\n").slice(-1);
      if (code === 0) resolve(said.out);
      else reject(new Error(`rank ${rank}: ${last === "" ? `exit code ${code}` : last}`));
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
