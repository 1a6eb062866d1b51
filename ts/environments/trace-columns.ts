/**
 * The tokens of a trace as flat columns: what an episode's binary part holds and what training samples are cut from.
 *
 * All branches stand one after the other, T tokens in total; `x[t]` belongs to `tokenIds[t]`.
 */
import { PrlError } from "../errors.ts";
import type { TraceNode } from "./trace.ts";

export interface TraceColumns {
  /** [T] */
  tokenIds: Uint32Array;
  /** [T], 1 where the policy sampled the token and it is to train; in the first of the branches that share it. */
  mask: Uint8Array;
  /** [T], 0 where not sampled. */
  logprobs: Float32Array;
  /**
   * [K, 2] row-major: from token `index` on, sampled by `version` (`UNSAMPLED_VERSION`: not sampled). Ascending, the
   * first row at 0, cut at every branch start.
   */
  versionSpans: Uint32Array;
  /** [n + 1]: branch b is the tokens from [b] to [b + 1]; the last entry is T. */
  branchOffsets: Uint32Array;
}

/** Stands for a policy version where no policy sampled. */
export const UNSAMPLED_VERSION = 0xffff_ffff;

export function toTraceColumns(branches: readonly (readonly TraceNode[])[]): TraceColumns {
  const total = branches.flat().reduce((sum, node) => sum + node.tokenIds.length, 0);
  const columns: TraceColumns = {
    tokenIds: new Uint32Array(total),
    mask: new Uint8Array(total),
    logprobs: new Float32Array(total),
    versionSpans: new Uint32Array(0),
    branchOffsets: new Uint32Array(branches.length + 1),
  };
  const spans: number[] = [];
  const trained = new Set<TraceNode>();
  let cursor = 0;
  branches.forEach((branch, index) => {
    let current: number | null = null;
    const span = (start: number, version: number): void => {
      if (version === current) return;
      spans.push(start, version);
      current = version;
    };
    for (const node of branch) {
      columns.tokenIds.set(node.tokenIds, cursor);
      if (node.promptTokens > 0) span(cursor, UNSAMPLED_VERSION);
      const sampledStart = cursor + node.promptTokens;
      const end = cursor + node.tokenIds.length;
      if (sampledStart < end) {
        // What branches share trains once.
        if (!trained.has(node)) columns.mask.fill(1, sampledStart, end);
        trained.add(node);
        columns.logprobs.set(node.logprobs, sampledStart);
        for (const [first, version] of node.policyVersions)
          if (sampledStart + first < end) span(sampledStart + first, version);
      }
      cursor = end;
    }
    columns.branchOffsets[index + 1] = cursor;
  });
  columns.versionSpans = Uint32Array.from(spans);
  return columns;
}

/** What is wrong with columns that came from elsewhere; throws PRL_EPISODE_INVALID saying so. */
export function checkTraceColumns(columns: TraceColumns, where: string): void {
  const { tokenIds, mask, logprobs, versionSpans, branchOffsets } = columns;
  const total = tokenIds.length;
  const fail = (problem: string): never => {
    throw new PrlError("PRL_EPISODE_INVALID", `${where}: ${problem}`);
  };
  if (mask.length !== total) fail(`mask has ${mask.length} entries for ${total} tokens`);
  if (logprobs.length !== total) fail(`logprobs has ${logprobs.length} entries for ${total} tokens`);
  if (mask.some((value) => value > 1)) fail("mask holds values other than 0 and 1");
  if (branchOffsets[0] !== 0 || branchOffsets.at(-1) !== total) fail(`branch_offsets do not go from 0 to ${total}`);
  if (branchOffsets.some((offset, index) => index > 0 && offset < (branchOffsets[index - 1] ?? 0))) {
    fail("branch_offsets fall");
  }
  if (versionSpans.length % 2 !== 0) fail("version_spans is no list of pairs");
  const starts = versionSpans.filter((_, index) => index % 2 === 0);
  if (total > 0 && starts[0] !== 0) fail("version_spans do not begin at token 0");
  if (starts.some((start, index) => start >= total || (index > 0 && start <= (starts[index - 1] ?? 0)))) {
    fail("version_spans do not rise, or lie outside the tokens");
  }
}

/** Lowest and highest version that sampled a token; null when none was sampled. */
export function versionRange({ versionSpans }: TraceColumns): { start: number; end: number } | null {
  const versions = [...versionSpans].filter((value, index) => index % 2 === 1 && value !== UNSAMPLED_VERSION);
  return versions.length === 0 ? null : { start: Math.min(...versions), end: Math.max(...versions) };
}
