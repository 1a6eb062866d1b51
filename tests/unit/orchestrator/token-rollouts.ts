/**
 * Simulated rollouts that are sampled token by token, can be cut and continued. Every sampled token has a unique id, so that
 * a token that is lost, doubled or reported under another version is noticed.
 */
import { setTimeout as sleep } from "node:timers/promises";

import type { Episode } from "../../../ts/environments/index.ts";
import type { ReceivedEpisode, RunRequest } from "../../../ts/environments/internal.ts";
import { RecordedTurns } from "../../../ts/environments/episode/partial-rollout.ts";
import { samplesOf } from "./simulation.ts";

const PROMPT_TOKEN = 9;
const UNSAMPLED = 0xffff_ffff;
const FIRST_ID = 100;

export interface SampledToken {
  version: number;
  logprob: number;
}

export interface TokenRollout {
  tokens: number[];
  versions: number[];
}

export class TokenRollouts {
  /** Every token ever sampled, by its id. */
  readonly sampled = new Map<number, SampledToken>();
  /** What each answered rollout has, by its id. */
  readonly answered = new Map<string, TokenRollout>();
  /** Tokens that rollouts continued from. */
  given = 0;

  /** Samples until it has `length` tokens or is cancelled; answers with what it has then. */
  async run(
    request: RunRequest,
    options: { length: number; msPerToken: number; reward: number; version: () => number; signal: AbortSignal },
  ): Promise<ReceivedEpisode> {
    const { length, msPerToken, reward, version, signal } = options;
    const { tokens, versions, logprobs } = this.#begun(request);
    const hadAll = tokens.length === length;
    while (tokens.length < length && !signal.aborted) {
      await sleep(msPerToken, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const id = FIRST_ID + this.sampled.size;
      const token = { version: version(), logprob: Math.fround(-id / 7) };
      this.sampled.set(id, token);
      tokens.push(id);
      versions.push(token.version);
      logprobs.push(token.logprob);
    }
    if (hadAll && msPerToken > 0) await sleep(0);
    this.answered.set(request.episode_id, { tokens, versions });
    return received(request, { tokens, versions, logprobs }, tokens.length === length, reward);
  }

  #begun({ partial }: RunRequest): TokenRollout & { logprobs: number[] } {
    const begun = partial === undefined ? null : new RecordedTurns(partial).take(0, Uint32Array.of(PROMPT_TOKEN));
    if (begun === null) return { tokens: [], versions: [], logprobs: [] };
    const tokens = [...begun.tokenIds];
    this.given += tokens.length;
    const versions = tokens.map((_, t) => begun.policyVersions.findLast(([first]) => first <= t)?.[1] ?? -1);
    return { tokens, versions, logprobs: [...begun.logprobs] };
  }
}

function received(
  request: RunRequest,
  { tokens, versions, logprobs }: TokenRollout & { logprobs: number[] },
  hasEnded: boolean,
  reward: number,
): ReceivedEpisode {
  const errors = hasEnded
    ? []
    : [{ class: "infra" as const, code: "PRL_EPISODE_CANCELLED", message: "it was cancelled" }];
  const base = {
    id: request.episode_id,
    env: { id: request.env, name: request.env },
    task: request.task,
    group: { id: request.group_id },
    run: request.run,
    ok: hasEnded,
    errors,
  };
  if (tokens.length === 0) return { episode: { ...base, traces: [] }, samples: null };
  const total = tokens.length + 1;
  const given = request.partial?.turns.at(-1);
  const trace: Episode["traces"][number] = {
    id: `${request.episode_id}-0`,
    agent: "agent",
    trainable: true,
    nodes: [],
    rewards: {},
    reward: hasEnded ? reward : null,
    metrics: given === undefined ? {} : { recycled_tokens: given.end - given.first },
    stop_condition: null,
    is_completed: hasEnded,
    is_truncated: false,
    usage: { prompt_tokens: 1, completion_tokens: tokens.length },
    timing: { start: 0, generation_ms: 0, scoring_ms: 0, total_ms: 0 },
    turns: [{ first: 1, end: total, finish_reason: hasEnded ? "stop" : "abort", stop_reason: null }],
    policy: { start: Math.min(...versions), end: Math.max(...versions) },
  };
  const spans = versions.flatMap((version, t) => (version === versions[t - 1] ? [] : [t + 1, version]));
  const columns = {
    tokenIds: Uint32Array.from([PROMPT_TOKEN, ...tokens]),
    mask: new Uint8Array(total).fill(1, 1),
    logprobs: Float32Array.from([0, ...logprobs]),
    versionSpans: Uint32Array.from([0, UNSAMPLED, ...spans]),
    branchOffsets: Uint32Array.of(0, total),
  };
  return { episode: { ...base, traces: [trace] }, samples: samplesOf([columns]) };
}
