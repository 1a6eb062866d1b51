/**
 * Saved traces as rows for `prl sft`: replies of a policy in evaluations or in training, with a sufficient reward.
 *
 * Each branch of a trace is a row. Replies of an earlier branch, and those that the policy did not write, are in `prompt`, which is
 * only read. Traces that cannot be exactly represented as rows are left out and counted by reason. Held-out evaluations of a training
 * run are not read.
 */
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import type { EpisodeTrace } from "../environments/index.ts";
import { PrlError } from "../errors.ts";
import { moveFile } from "../files/atomic-write.ts";
import { textLines } from "../files/text-lines.ts";
import { readEpisode } from "./read-episode.ts";

/** Why a trace, a branch or an episode gives no row. */
export type LeftOut =
  | "unreadable" // the line holds no episode
  | "failed" // the rollout ended in an error
  | "low_reward"
  | "not_trainable" // another model played
  | "truncated" // the last reply was cut, and no model should learn to end there
  | "varied_prompts" // tools, or text and messages, changed within the trace
  | "unknown_prompts" // the record does not say what the prompts were
  | "foreign_reply" // a reply among the sampled ones that the policy did not write
  | "several_replies" // a raw text with more than one turn
  | "nothing_sampled"; // another branch has all of it

export interface ExportOptions {
  /** Least reward of a trace. */
  readonly minReward?: number;
  readonly signal?: AbortSignal;
}

export interface ExportReport {
  readonly rows: number;
  /** Number of traces read. */
  readonly traces: number;
  readonly leftOut: Partial<Record<LeftOut, number>>;
}

type Node = EpisodeTrace["nodes"][number];
type Row = Record<string, unknown>;

/** Writes `out`, whole or not at all. Errors: PRL_RUN_UNKNOWN when the folder has no traces, PRL_IO; the signal's reason. */
export async function exportSft(dir: string, out: string, options: ExportOptions = {}): Promise<ExportReport> {
  const { minReward = -Infinity, signal } = options;
  const files = await traceFiles(dir);
  if (files.length === 0)
    throw new PrlError("PRL_RUN_UNKNOWN", `${dir} has no traces.jsonl and no rollouts/step_*/traces.jsonl`);
  const leftOut: Partial<Record<LeftOut, number>> = {};
  const count = (reason: LeftOut): void => void (leftOut[reason] = (leftOut[reason] ?? 0) + 1);
  const [total, temporary] = [{ rows: 0, traces: 0 }, `${out}.${process.pid}.tmp`];
  try {
    const file = await open(temporary, "w");
    try {
      for (const path of files) {
        for await (const line of textLines(path)) {
          signal?.throwIfAborted();
          if (line === "") continue;
          const episode = readEpisode(line);
          if (episode?.ok !== true) count(episode === null ? "unreadable" : "failed");
          for (const trace of episode?.ok === true ? episode.traces : []) {
            total.traces++;
            const rows = traceRows(trace, minReward, count).map((row) => ({
              ...row,
              reward: trace.reward,
              env: episode?.env.id,
            }));
            total.rows += rows.length;
            if (rows.length > 0) await file.write(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
          }
        }
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await moveFile(temporary, out);
  } catch (cause) {
    await rm(temporary, { force: true });
    if (cause instanceof PrlError || signal?.aborted === true) throw cause;
    throw new PrlError("PRL_IO", `cannot export the traces of ${dir} to ${out}`, { cause });
  }
  return { ...total, leftOut };
}

async function traceFiles(dir: string): Promise<string[]> {
  try {
    const found = await readdir(dir, { recursive: true });
    const traces = found.filter((path) => /^(rollouts\/step_\d+\/)?traces\.jsonl$/u.test(path));
    return traces.toSorted((a, b) => stepOf(a) - stepOf(b)).map((path) => join(dir, path));
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot read the run directory ${dir}`, { cause });
  }
}

const stepOf = (path: string): number => Number(/step_(\d+)/u.exec(path)?.[1] ?? 0);

function traceRows(trace: EpisodeTrace, minReward: number, count: (reason: LeftOut) => void): Row[] {
  const reason = unfit(trace, minReward);
  if (reason !== null) {
    count(reason);
    return [];
  }
  const taken = new Set<number>();
  return branches(trace.nodes).flatMap((path) => {
    const row = branchRow(trace, path, taken);
    if (typeof row === "string") {
      count(row);
      return [];
    }
    for (const index of path) if (trace.nodes[index]?.sampled === true) taken.add(index);
    return [row];
  });
}

function unfit({ trainable, reward, is_truncated, asked }: EpisodeTrace, minReward: number): LeftOut | null {
  if (!trainable) return "not_trainable";
  if (reward === null) return "failed";
  if (reward < minReward) return "low_reward";
  if (is_truncated) return "truncated";
  if (asked === undefined) return "unknown_prompts";
  return asked === "varied" ? "varied_prompts" : null;
}

/** Indices from a root to each leaf. */
function branches(nodes: readonly Node[]): number[][] {
  const inner = new Set(nodes.map(({ parent }) => parent));
  return nodes.flatMap((_, leaf) => {
    if (inner.has(leaf)) return [];
    const path: number[] = [];
    for (let at: number | null = leaf; at !== null; at = nodes[at]?.parent ?? null) path.unshift(at);
    return [path];
  });
}

function branchRow({ nodes, asked }: EpisodeTrace, path: readonly number[], taken: ReadonlySet<number>): Row | LeftOut {
  const from = path.findIndex((index) => nodes[index]?.sampled === true && !taken.has(index));
  if (from < 0) return "nothing_sampled";
  const messages = path.flatMap((index) => nodes[index]?.message ?? []);
  const isForeign = (index: number): boolean =>
    nodes[index]?.message.role === "assistant" && !(nodes[index]?.sampled ?? false);
  if (path.slice(from).some(isForeign)) return "foreign_reply";
  const form = typeof asked === "object" ? asked : { is_text: false };
  if (form.is_text) {
    const [prompt, reply, ...more] = messages;
    if (prompt === undefined || reply === undefined || more.length > 0) return "several_replies";
    return { prompt: prompt.content, completion: reply.content };
  }
  const tools = form.tools === undefined ? {} : { tools: form.tools };
  const isReadOnly = path.slice(0, from).some((index) => nodes[index]?.message.role === "assistant");
  if (!isReadOnly) return { messages, ...tools };
  return { prompt: messages.slice(0, from), completion: messages.slice(from), ...tools };
}
