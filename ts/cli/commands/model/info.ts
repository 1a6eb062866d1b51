/** `prl model info`: what prl can do with a model, and the memory for it. */
import { totalmem } from "node:os";

import { PrlError } from "../../../errors.ts";
import { hubSettings } from "../../../hub/index.ts";
import {
  type ModelInfo,
  modelInfo,
  type Refusal,
  type ServingMemory,
  type TrainingMemory,
} from "../../../models/index.ts";
import { formatBytes, formatCount, renderTable } from "../../../monitors/index.ts";
import type { WeightDtype } from "../../../native/index.ts";
import { type PlainArguments, showText } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { namingTheStop } from "../../processes/model-download.ts";
import { printable } from "../../runs/text.ts";

export async function run({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl model info: expected one model, org/name or a folder; see prl model --help",
    );
  }
  const revision = options.get("--revision");
  if (revision !== undefined && name.includes("@")) {
    throw new PrlError("PRL_CLI_USAGE", "prl model info: the name and --revision both name a revision");
  }
  const number = (flag: string): number | undefined => (options.has(flag) ? Number(options.get(flag)) : undefined);
  const [batch, seqLen, rank] = [number("--batch"), number("--seq-len"), number("--lora-rank")];
  const dtype = dtypeOption(options.get("--dtype"));
  const workload = {
    ...(rank !== undefined && { rank }),
    ...(batch !== undefined && { batch }),
    ...(seqLen !== undefined && { seqLen }),
    ...(dtype !== null && { dtype }),
    ...(options.has("--base-dtype") && { baseDtype: "int8" as const }),
  };
  const where = { cwd: io.cwd, settings: hubSettings(io.env), signal: io.signal };
  const text = revision === undefined ? name : `${name}@${revision}`;
  const info = await namingTheStop(io, modelInfo(text, workload, where));
  if (io.json) io.writeJson({ ...info, machine_bytes: machineBytes() });
  else io.stdout.write(`${infoLines(info).join("\n")}\n`);
  return EXIT.done;
}

/** Null: that of the model. */
function dtypeOption(text: string | undefined): WeightDtype | null {
  if (text === undefined || text === "auto") return null;
  if (text === "float32" || text === "bfloat16") return text;
  throw new PrlError("PRL_CLI_USAGE", `--dtype: expected auto, float32 or bfloat16, got ${showText(text)}`);
}

function infoLines(info: ModelInfo): string[] {
  const { parameters, dtypes, max_tokens: longest } = info;
  const size =
    parameters === null ? "no weights: a run makes random ones" : `${formatCount(parameters)} (${dtypes.join(", ")})`;
  const place = info.folder ?? "on the hub, not on this disk";
  const rows: [string, string][] = [
    ["model", info.model],
    ...(place === info.model ? [] : [["folder", place] as [string, string]]),
    ["architecture", info.architecture ?? "not named"],
    ["parameters", size],
    ["longest", longest === null ? "not known" : `${formatCount(longest)} tokens`],
    ["train", verdict(info.train)],
    ["serve", verdict(info.serve)],
    ...loraRow(info),
  ];
  return [...rows.map(([label, text]) => `${label.padEnd(14)}${printable(text)}`), ...memoryLines(info)];
}

/** The row on the adapter that the model can have, where it can be trained. */
function loraRow({ train, lora, parameters }: ModelInfo): [string, string][] {
  if (lora === null || train !== null) return [];
  const share = parameters === null ? "" : `, ${((100 * lora.parameters) / parameters).toPrecision(2)} %`;
  const count = `${formatCount(lora.parameters)} parameters${share}`;
  return [["LoRA", `yes: rank ${lora.rank} on ${lora.modules.join(", ")} of every layer, ${count}`]];
}

function verdict(refusal: Refusal | null): string {
  return refusal === null ? "yes" : `no: [${refusal.code}] ${refusal.reason}`;
}

function memoryLines({ training, adapter, lora, serving, workload }: ModelInfo): string[] {
  if (training === null || adapter === null || lora === null || serving === null) return [];
  const { batch, seqLen, dtype, baseDtype } = workload;
  const base = baseDtype === undefined ? "" : `, frozen projections in ${baseDtype}`;
  const sequences = batch === 1 ? "1 sequence" : `${formatCount(batch)} sequences at once`;
  const columns = ["memory", "weights", "gradients", "optimizer", "activations", "KV cache", "total"];
  const train = ({ weights, gradients, optimizer, activations, total }: TrainingMemory) =>
    [weights, gradients, optimizer, activations, undefined, total].map(formatBytes);
  const serve = [serving.weights, undefined, undefined, serving.work, serving.kv_cache, serving.total];
  return [
    "",
    ...renderTable(columns, [
      ["train, AdamW", ...train(training)],
      ["train, LoRA", ...train(adapter)],
      ["serve", ...serve.map(formatBytes)],
    ]),
    "",
    `LoRA: an adapter of rank ${lora.rank} in place of all weights ([model.lora]). Weights in ${dtype}${base}, ${sequences} of ${formatCount(seqLen)} tokens. Loading takes up to ${formatBytes(serving.loading)} for a moment.`,
    ...cacheLines(serving),
    `A run has one trainer and at least one server. This machine has ${formatBytes(machineBytes())}.`,
  ];
}

/** The KV cache's other size. */
function cacheLines({ kv_cache_bf16: half }: ServingMemory): string[] {
  if (half === null) return [];
  const tiers = "on a processor with AVX-512-BF16 or AMX it is in bfloat16";
  return [`The KV cache is in float32; ${tiers}, ${formatBytes(half)}.`];
}

/** Memory that this process may have. */
function machineBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
