/** The keys that name what computes the steps, in `[trainer]` and at the top of `sft.toml`; and keys that it does not read, or cannot do. */
import { z } from "zod";

import { filePath, MOST_PROCESSES, seconds } from "../fields.ts";
import type { rolloutTransportBlock } from "../transports.ts";
import type { trainerBlock } from "./trainer.ts";

/** Ranks give a sign of life every two seconds. */
const LEAST_SILENCE = 10;
const SILENCE = 60;
const LONGEST_CALL = 1800;

export const backendKeys = {
  backend: z
    .enum(["engine", "torch"])
    .default("engine")
    .describe(
      "What computes the steps: the embedded engine, or PyTorch, whose environment `prl python setup torch` makes",
    ),
  ranks: z
    .int()
    .positive()
    .max(MOST_PROCESSES)
    .default(1)
    .describe("torch: processes that train together, each on its own part of a batch and of the weights"),
  parallel: z
    .strictObject({
      context: z
        .int()
        .positive()
        .max(MOST_PROCESSES)
        .default(1)
        .describe(
          "torch: ranks that share each bin, so that longer sequences fit: each has a part of its tokens, and in attention a part of the heads; a divisor of ranks and of the model's attention heads",
        ),
      tensor: z
        .int()
        .positive()
        .max(MOST_PROCESSES)
        .default(1)
        .describe(
          "torch: neighbouring ranks that share each matrix of a layer (tensor parallelism): they compute the same bins, each a part of the heads and of the network's width; a divisor of ranks, of the model's attention and key-value heads, of its intermediate_size and of moe_intermediate_size, the width of each expert",
        ),
      replicas: z
        .int()
        .positive()
        .max(MOST_PROCESSES)
        .default(1)
        .describe(
          "torch: copies of the weights (HSDP): each of so many groups of neighbouring ranks has them all, and only gradients travel between groups; a divisor of ranks",
        ),
      expert: z
        .int()
        .positive()
        .max(MOST_PROCESSES)
        .default(1)
        .describe(
          "torch: neighbouring ranks that share the experts of each layer (expert parallelism): each keeps its own bins, and sends rows to the ranks that have their experts; a divisor of ranks and of the model's experts, with tensor = 1",
        ),
    })
    .prefault({})
    .describe("How the ranks divide tokens and weights"),
  python: filePath(
    "torch: Python interpreter with torch, transformers and safetensors; unset: that of `prl python setup torch`",
  )
    .nullable()
    .default(null),
  compile: z
    .boolean()
    .default(false)
    .describe(
      "torch: compile the layers into fewer kernels, which makes steps faster after some minutes at the start; wants a C compiler",
    ),
  profile_step: z
    .int()
    .positive()
    .nullable()
    .default(null)
    .describe(
      "torch: step of which each rank writes a trace, profile/step_<n>/rank_<rank>.json.gz in the run directory, for Perfetto or chrome://tracing; unset: none",
    ),
  rank_timeout_s: seconds()
    .min(LEAST_SILENCE, "ranks give a sign of life every 2 s: 10 is the least")
    .default(SILENCE)
    .describe("torch: longest time without a sign of life of a rank (seconds); then it is named and the run ends"),
  call_timeout_s: seconds()
    .default(LONGEST_CALL)
    .describe(
      "Longest time for all bins of a step, or for a checkpoint (seconds). Then torch's ranks that are not ready are named with their places in the code, and the run ends; a process of the engine is killed, and another one takes its place",
    ),
};

type Trainer = z.output<typeof trainerBlock>;

interface Problem {
  key: string;
  message: string;
}

const UNREAD = 'is not read by backend = "engine"';

/** Ranks that compute the same bins together. */
export function binRanks({ parallel }: Pick<Trainer, "parallel">): number {
  return parallel.context * parallel.tensor;
}

/** Batches of a step: one for the ranks that share their bins. */
export function batchRanks(trainer: Pick<Trainer, "ranks" | "parallel">): number {
  return trainer.ranks / binRanks(trainer);
}

/** Problems of the keys above, by key. */
export function* backendKeyProblems(keys: Pick<Trainer, keyof typeof backendKeys>): Generator<Problem> {
  const { backend, ranks, python, compile, profile_step, rank_timeout_s: silence } = keys;
  yield* parallelProblems(keys);
  if (backend !== "engine") return;
  if (ranks > 1) yield { key: "ranks", message: 'the engine trains in one process: set backend = "torch"' };
  if (python !== null) yield { key: "python", message: UNREAD };
  if (compile) yield { key: "compile", message: UNREAD };
  if (profile_step !== null) yield { key: "profile_step", message: UNREAD };
  if (silence !== SILENCE) yield { key: "rank_timeout_s", message: UNREAD };
}

function* parallelProblems({ ranks, parallel }: Pick<Trainer, "ranks" | "parallel">): Generator<Problem> {
  for (const [key, count] of Object.entries(parallel)) {
    if (ranks % count !== 0) yield { key: "parallel", message: `${key} = ${count} does not divide ranks = ${ranks}` };
  }
  const { tensor, context, replicas, expert } = parallel;
  if (expert > 1 && tensor > 1) {
    const message = `expert = ${expert} and tensor = ${tensor}: ranks share experts or matrices, not both; set one of them to 1`;
    yield { key: "parallel", message };
    return;
  }
  const pairs = [
    { context, tensor },
    { replicas, tensor },
    { replicas, expert },
  ];
  for (const pair of pairs) yield* pairProblems(ranks, pair);
}

/** Names two numbers that divide the ranks each alone, and not one inside of the other. */
function* pairProblems(ranks: number, pair: Readonly<Record<string, number>>): Generator<Problem> {
  const [[outer, count], [inner, each]] = Object.entries(pair) as [[string, number], [string, number]];
  if (each === 1 || ranks % each !== 0 || ranks % count !== 0 || ranks % (count * each) === 0) return;
  const message = `${outer} = ${count} times ${inner} = ${each} does not divide ranks = ${ranks}`;
  yield { key: "parallel", message };
}

/** Problems by key of `[trainer]`. */
export function* backendProblems(
  trainer: Trainer,
  rolloutTransport: z.output<typeof rolloutTransportBlock>,
): Generator<Problem> {
  yield* backendKeyProblems(trainer);
  if (trainer.backend === "engine") return;
  if (trainer.loss.type === "custom") {
    const message =
      'a custom loss is a function of JavaScript, which backend = "torch" cannot call: set backend = "engine"';
    yield { key: "loss", message };
  }
  if (batchRanks(trainer) > 1 && rolloutTransport.type === "grpc") {
    const message = 'over gRPC there is one trainer address: use rollout_transport.type = "filesystem", or one rank';
    yield { key: "ranks", message };
  }
}
