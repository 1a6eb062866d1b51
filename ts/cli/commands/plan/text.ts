/** A plan as text: tables of bytes, then times, traffic, processes, assumptions and problems. */
import { formatBytes, formatCount, formatSeconds, renderTable } from "../../../monitors/index.ts";
import { type Plan, shareText } from "../../../plan/index.ts";
import { wrap } from "../../output.ts";
import { printable } from "../../runs/text.ts";

const LABEL = 14;
const WIDEST = 120;
const MILLI = 1000;
const WORK_OF = { logits: "logits and head", layer: "the backward pass of a layer", optimizer: "the optimizer's step" };

export function planLines(plan: Plan): string[] {
  return [
    ...modelLines(plan),
    "",
    ...trainerLines(plan),
    "",
    ...inferenceLines(plan),
    "",
    ...(plan.share === null ? [] : [...wrap(shareText(plan.share), WIDEST), ""]),
    ...stepLines(plan),
    "",
    "Assumed",
    ...plan.assumptions.flatMap(bullet),
    ...(plan.problems.length === 0 ? [] : ["", "Does not fit", ...plan.problems.flatMap(bullet)]),
  ];
}

function row(label: string, text: string): string {
  return `${label.padEnd(LABEL)}${text}`;
}

/** A line of a list, wrapped. */
export function bullet(text: string): string[] {
  return wrap(text, WIDEST - 2).map((line, index) => `${index === 0 ? "- " : "  "}${line}`);
}

function modelLines({ model }: Plan): string[] {
  const { parameters, trained, active } = model;
  return [
    row("model", `${printable(model.name)} (${printable(model.architecture)}), ${model.dtype}`),
    row(
      "parameters",
      [
        formatCount(parameters),
        ...(trained === parameters ? [] : [`${formatCount(trained)} train`]),
        ...(active === parameters ? [] : [`${formatCount(active)} of a token`]),
      ].join(", "),
    ),
  ];
}

function kinds(
  bytes: Readonly<Record<string, number>>,
  total: number,
  names: Readonly<Record<string, string>> = {},
): string[] {
  const present = Object.entries(bytes);
  const header = ["", ...present.map(([name]) => names[name] ?? name.replaceAll("_", " ")), "total"];
  return renderTable(header, [["bytes", ...present.map(([, value]) => formatBytes(value)), formatBytes(total)]]);
}

function trainerLines({ trainer, machine }: Plan): string[] {
  const { backend, ranks, place, bytes, total, loading, loading_host: host, work_of: workOf } = trainer;
  const where =
    place === "gpu"
      ? `${ranks} GPU${ranks === 1 ? "" : "s"}, bytes of each`
      : `${ranks} process${ranks === 1 ? "" : "es"}, bytes of each`;
  return [
    `Trainer: ${backend}, ${where}`,
    ...kinds(bytes, total),
    ...(workOf === null ? [] : [`Most of the work is that of ${WORK_OF[workOf]}.`]),
    ...(loading === null || place === "cpu"
      ? []
      : [
          `Loading takes up to ${formatBytes(loading)} of each GPU, and ${formatBytes(host ?? 0)} of the machine's memory.`,
        ]),
    ...(place === "cpu"
      ? [
          `All parts on processors need ${formatBytes(machine.needed)}; this machine has ${formatBytes(machine.available)}.`,
        ]
      : []),
  ];
}

function inferenceLines({ inference }: Plan): string[] {
  const { backend, servers, gpus_per_server: gpus, place, bytes, total } = inference;
  const count = `${servers} server${servers === 1 ? "" : "s"}`;
  const where =
    place === "gpu"
      ? `${count} of ${gpus} GPU${gpus === 1 ? "" : "s"}, bytes of each`
      : `${count} on processors, bytes of each`;
  const whose = inference.is_started ? "" : ", which run already";
  return [
    `Inference: ${backend}, ${where}${whose}`,
    ...kinds(bytes, total, { kv_cache: "KV cache" }),
    `The KV cache of a server holds ${formatCount(inference.kv_tokens)} tokens (${formatCount(inference.kv_bytes_per_token)} bytes each): ${formatCount(inference.longest_sequences)} sequences of ${formatCount(inference.max_model_len)} tokens, or ${formatCount(inference.mean_sequences)} of the mean length at once.`,
  ];
}

function stepLines(plan: Plan): string[] {
  const { batch, time, versions, processes } = plan;
  const seconds = (value: number | null): string => (value === null ? "not estimated" : formatSeconds(value));
  const { trainer_gpus: train, inference_gpus: infer } = processes;
  const gpus = plan.share === null ? `${train} + ${infer}` : "trainer and vLLM in turns";
  const bins = `${formatCount(batch.bins_per_rank)} bin${batch.bins_per_rank === 1 ? "" : "s"} on each rank`;
  const turns = time.handover === null ? "" : `, changes of the turn ${formatSeconds(time.handover)}`;
  const token =
    time.token === null
      ? ""
      : `; a token in ${(time.token * MILLI).toFixed(1)} ms with ${formatCount(time.decoded_together)} sequences together`;
  return [
    row("batch", `${formatCount(batch.rollouts)} rollouts, ${formatCount(batch.tokens)} tokens, ${bins}`),
    row("in flight", `${formatCount(batch.in_flight)} rollouts`),
    row("step", `${seconds(time.step)}: training ${seconds(time.train)}, sampling ${seconds(time.sample)}${turns}`),
    row("rollout", `${seconds(time.rollout)}${token}`),
    ...(time.train === null ? [] : [row("operations", operationsText(time))]),
    row("a version", versionText(versions)),
    row(
      "on disk",
      `${formatBytes(versions.disk)} of versions and checkpoints, a checkpoint has ${formatBytes(versions.checkpoint)}`,
    ),
    row(
      "processes",
      `${processes.gpus} GPU${processes.gpus === 1 ? "" : "s"} (${gpus}), ${processes.env_workers} env workers, ${formatCount(processes.sandboxes)} sandboxes`,
    ),
  ];
}

function operationsText({ bf16_operations: half, f32_operations: single }: Plan["time"]): string {
  return `${half.toExponential(2)} in bfloat16, ${single.toExponential(2)} in float32 a step`;
}

function versionText({ full, full_seconds: seconds, sparse, sparse_seconds: sparseSeconds }: Plan["versions"]): string {
  const whole = `${formatBytes(full)}, ${formatSeconds(seconds)} to travel`;
  if (sparse === null || sparseSeconds === null) return whole;
  return `${whole}; a sparse one ${formatBytes(sparse)}, ${formatSeconds(sparseSeconds)}`;
}
