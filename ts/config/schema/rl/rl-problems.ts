/** Keys of `rl.toml` that do not fit together, part by part. */
import { ckptProblem } from "../ckpt.ts";
import { inferenceProblems } from "../inference/backend.ts";
import { lengthProblems } from "../lengths.ts";
import { algoProblems } from "../orchestrator/algo.ts";
import { rolloutsPerBatch } from "../orchestrator/batch-size.ts";
import { concurrencyProblem } from "../orchestrator/concurrency.ts";
import { curriculumProblem, gateProblem } from "../orchestrator/curriculum.ts";
import { filterProblems } from "../orchestrator/filters.ts";
import { engineProblems, placementProblems } from "../orchestrator/remote-env-workers.ts";
import { backendProblems } from "../trainer/backend.ts";
import { baseDtypeProblem } from "../trainer/lora.ts";
import { lossProblems } from "../trainer/loss.ts";
import { routerProblems } from "../trainer/router.ts";
import { optimProblems, scheduleProblem } from "../trainer/trainer.ts";
import type { Problem } from "../problem.ts";
import { colocatedProblems } from "./colocated.ts";
import type { RlInput } from "./rl-keys.ts";
import { nameOf, nameProblems, takenNames } from "./source-names.ts";

const SOURCE = ["orchestrator", "train", "source"];
const LAST_PORT = 65_535;

type Orchestrator = RlInput["orchestrator"];

/** All problems; `[]` for a config that can run. */
export function rlProblems(config: RlInput): Problem[] {
  const { orchestrator } = config;
  return [
    ...batchProblems(orchestrator),
    ...curriculumProblems(orchestrator),
    ...advantageProblems(orchestrator),
    ...inflightProblems(orchestrator),
    ...workerPlacementProblems(config),
    ...clientProblems(config),
    ...stalenessProblems(config),
    ...serverPortProblems(config.inference),
    ...inferenceProblems(config.inference, config),
    ...learningProblems(config),
    ...colocatedProblems(config),
    ...routerProblems(config),
    ...adapterProblems(config),
    ...sequenceProblems(config),
    ...nameProblems(SOURCE, orchestrator.train.source),
    ...takenNames(SOURCE, orchestrator.train.source),
    ...nameProblems(["orchestrator", "eval", "source"], orchestrator.eval?.source ?? []),
  ];
}

/** Refuses keys that an adapter under RL cannot have. */
function* adapterProblems({
  model,
  trainer,
  inference,
  orchestrator,
  warm_start: warmStart,
}: RlInput): Generator<Problem> {
  const path = ["model", "base_dtype"];
  const base = baseDtypeProblem(model, trainer.backend);
  if (base !== null) yield { path, message: base };
  if (model.lora === null) return;
  if (model.base_dtype !== null && [orchestrator.client.api, inference.backend].includes("vllm")) {
    yield { path, message: "is not read by vLLM servers: their numbers would be those of other weights" };
  }
  if (model.lora.dropout > 0) {
    const message = "is for supervised training: the sampler drops nothing, so that its log-probabilities would differ";
    yield { path: ["model", "lora", "dropout"], message };
  }
  if (warmStart !== null) {
    const message =
      "trains all weights, and an adapter is trained on fixed ones: run prl sft first and name its model in model.name";
    yield { path: ["warm_start"], message };
  }
}

/** A batch holds whole groups. */
function* batchProblems(orchestrator: Orchestrator): Generator<Problem> {
  const { batch_size: rollouts, token_batch_size: tokens, group_size: groupSize, train } = orchestrator;
  if (tokens !== null && rollouts !== null) {
    const path = ["orchestrator", "token_batch_size"];
    yield { path, message: "give batch_size (rollouts) or token_batch_size (tokens), not both" };
  }
  const batch = rolloutsPerBatch(orchestrator);
  if (batch === null) return;
  if (batch % groupSize !== 0) {
    const message = `${batch} is no multiple of orchestrator.group_size ${groupSize}`;
    yield { path: ["orchestrator", "batch_size"], message };
  }
  for (const [i, { group_size: size }] of train.source.entries()) {
    if (size === null || batch % size === 0) continue;
    yield { path: [...SOURCE, i, "group_size"], message: `orchestrator.batch_size ${batch} is no multiple of ${size}` };
  }
}

function* curriculumProblems({ train }: Orchestrator): Generator<Problem> {
  for (const [i, { curriculum }] of train.source.entries()) {
    const message = curriculumProblem(curriculum);
    if (message !== null) yield { path: [...SOURCE, i, "curriculum", "sampler"], message };
    const gate = gateProblem(curriculum);
    if (gate !== null) yield { path: [...SOURCE, i, "curriculum", "gates", "advantage_range"], message: gate };
  }
}

/** Algorithms and filters, which read only their keys. */
function* advantageProblems({ algo: ofAll, train, filters }: Orchestrator): Generator<Problem> {
  const places = [
    { at: ["orchestrator", "algo"], algo: ofAll },
    ...train.source.map(({ algo }, i) => ({ at: [...SOURCE, i, "algo"], algo })),
  ];
  for (const { at, algo } of places) {
    if (algo === null) continue;
    for (const { key, message } of algoProblems(algo)) yield { path: [...at, key], message };
  }
  for (const { index, key, message } of filterProblems(filters)) {
    yield { path: ["orchestrator", "filters", index, key], message };
  }
}

/** Rollouts at once, and the processes that run them. */
function* inflightProblems(orchestrator: Orchestrator): Generator<Problem> {
  const { group_size: groupSize, max_inflight: most, train } = orchestrator;
  const largest = Math.max(groupSize, ...train.source.map((source) => source.group_size ?? groupSize));
  if (most < largest) {
    const path = ["orchestrator", "max_inflight"];
    yield { path, message: `${most} is less than the group size ${largest}: no group could run` };
  }
  const concurrency = concurrencyProblem(orchestrator);
  if (concurrency !== null) {
    yield { path: ["orchestrator", "concurrency", concurrency.key], message: concurrency.message };
  }
  const { max_env_workers: mostWorkers, env_workers: workers } = orchestrator;
  if (mostWorkers !== null && mostWorkers < workers) {
    const path = ["orchestrator", "max_env_workers"];
    yield { path, message: `${mostWorkers} is less than env_workers ${workers}` };
  }
}

function* workerPlacementProblems({ orchestrator, inference }: RlInput): Generator<Problem> {
  const { remote_env_workers: remote, train, eval: evaluation, client } = orchestrator;
  yield* placementProblems(remote, [...train.source, ...(evaluation?.source ?? [])].map(nameOf));
  const own = { path: ["inference", "server", "host"], host: inference.server.host };
  const others = client.base_url.map((url) => {
    return { path: ["orchestrator", "client", "base_url"], host: new URL(url).hostname };
  });
  yield* engineProblems(remote, others.length > 0 ? others : [own]);
}

function* clientProblems({ orchestrator: { client }, inference }: RlInput): Generator<Problem> {
  const isOwn = client.base_url.length === 0;
  // A resolved config has it in both places.
  const own = isOwn && inference.backend === "vllm" ? inference.vllm.api_key_var : null;
  if (client.api_key_var !== null && client.api_key_var !== own && isOwn) {
    const message = "is for servers of base_url; a vLLM of the run has inference.vllm.api_key_var";
    yield { path: ["orchestrator", "client", "api_key_var"], message };
  }
  if (client.api !== "vllm" || client.base_url.length > 0 || inference.backend === "vllm") return;
  const message =
    'names no running servers: set inference.backend = "vllm" and the run starts them, or name some with orchestrator.client.base_url';
  yield { path: ["orchestrator", "client", "api"], message };
}

/** How far sampling lags behind training, and what becomes of the groups that it makes too much of. */
function* stalenessProblems({ orchestrator, max_async_level: level, weight_broadcast }: RlInput): Generator<Problem> {
  const { recycle, oversampling, max_off_policy_steps: most } = orchestrator;
  if (recycle === "tails" && oversampling === 1) {
    const message =
      '"tails" needs oversampling, without which there are none: raise orchestrator.oversampling, or set "stale"';
    yield { path: ["orchestrator", "recycle"], message };
  }
  if (oversampling > 1 && level === 0) {
    const message =
      "is for a max_async_level of 1 or more, because at 0 each group is opened for one batch: raise the level, or set 1";
    yield { path: ["orchestrator", "oversampling"], message };
  }
  if (most < level && level > 0) {
    const message = `${most} is less than max_async_level ${level}: raise it to at least ${level}`;
    yield { path: ["orchestrator", "max_off_policy_steps"], message };
  }
  const { keep } = weight_broadcast;
  if (keep > level) return;
  yield { path: ["weight_broadcast", "keep"], message: `${keep} must be more than max_async_level ${level}` };
}

function* serverPortProblems({ replicas, server: { port } }: RlInput["inference"]): Generator<Problem> {
  if (port + replicas <= LAST_PORT + 1) return;
  const message = `${replicas} replicas from port ${port} on need ports above ${LAST_PORT}: set a lower port, or 0 for free ones`;
  yield { path: ["inference", "server", "port"], message };
}

/** Loss, checkpoints, schedule, optimizer. */
function* learningProblems(config: RlInput): Generator<Problem> {
  const { trainer, ckpt, max_steps } = config;
  for (const { key, message } of backendProblems(trainer, config.rollout_transport)) {
    yield { path: ["trainer", key], message };
  }
  for (const { key, message } of lossProblems(trainer.loss)) yield { path: ["trainer", "loss", key], message };
  const checkpoints = ckptProblem(ckpt);
  if (checkpoints !== null) yield { path: ["ckpt"], message: checkpoints };
  const schedule = scheduleProblem(trainer.scheduler, max_steps);
  if (schedule !== null) yield { path: ["trainer", "scheduler"], message: schedule };
  for (const { path, message } of optimProblems(trainer.optim, trainer.scheduler)) {
    yield { path: ["trainer", ...path], message };
  }
}

/** Completions fit into sequences, sequences into the engines. */
function* sequenceProblems({ orchestrator, inference, seq_len: seqLen }: RlInput): Generator<Problem> {
  yield* lengthProblems(["orchestrator", "train"], orchestrator.train, seqLen);
  yield* lengthProblems(["orchestrator", "eval"], orchestrator.eval, seqLen);
  const { max_model_len: longest } = inference;
  if (longest === null || longest >= seqLen || orchestrator.client.base_url.length > 0) return;
  const message = `${longest} is less than seq_len ${seqLen}: the servers would refuse longer sequences`;
  yield { path: ["inference", "max_model_len"], message };
}
