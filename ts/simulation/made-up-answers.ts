/** Answers to what the orchestrator asks, made up: pages of tasks, episodes with a few tokens, versions of weights that hold nothing. */
import type { Episode } from "../environments/index.ts";
import { encodeTraceColumns, type ReceivedEpisode, type RunRequest } from "../environments/internal.ts";
import { RolloutSamples } from "../native/index.ts";
import type { EnvWorkers } from "../orchestrator/index.ts";
import type { AvailableWeights, WeightSource } from "../transports/index.ts";

const NOT_SAMPLED = 0xffffffff;
const PAGE = 1024;

/** Tasks without an end, named by numbers. */
export const madeUpTasks: EnvWorkers["tasks"] = async ({ after, limit }) => {
  const start = Number(after ?? 0);
  const count = Math.min(limit, PAGE);
  const tasks = Array.from({ length: count }, (_, i) => ({ key: String(start + i), hash: "", data: {} }));
  return { tasks, next: String(start + count), endless: true };
};

export interface MadeUpRollout {
  readonly reward: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Versions that sampled the first and the last token. */
  readonly start: number;
  readonly end: number;
}

/** An episode of one turn that says so of itself. */
export function madeUpEpisode(request: RunRequest, rollout: MadeUpRollout): Episode {
  const { reward, promptTokens, completionTokens, start, end } = rollout;
  return {
    id: request.episode_id,
    env: { id: request.env, name: request.env },
    task: request.task,
    group: { id: request.group_id },
    run: request.run,
    ok: true,
    errors: [],
    traces: [
      {
        id: `${request.episode_id}-0`,
        agent: "agent",
        trainable: true,
        nodes: [],
        rewards: {},
        reward,
        metrics: {},
        stop_condition: "agent_completed",
        is_completed: true,
        is_truncated: false,
        usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens },
        timing: { start: 0, generation_ms: 0, scoring_ms: 0, total_ms: 0 },
        policy: { start, end },
      },
    ],
  };
}

/** Its columns: these ids, of which the first `prompt` were not sampled. */
export function madeUpColumns(
  tokenIds: Uint32Array,
  prompt: number,
  { start, end }: Pick<MadeUpRollout, "start" | "end">,
): Uint8Array {
  const { length } = tokenIds;
  const spans = start === end || length - prompt < 2 ? [prompt, end] : [prompt, start, prompt + 1, end];
  const columns = {
    tokenIds,
    mask: new Uint8Array(length).fill(1, prompt),
    logprobs: new Float32Array(length).fill(-1, prompt),
    versionSpans: Uint32Array.of(0, NOT_SAMPLED, ...spans),
    branchOffsets: Uint32Array.of(0, length),
  };
  return encodeTraceColumns([columns]);
}

export function madeUpAnswer(episode: Episode, columns: Uint8Array): ReceivedEpisode {
  return { episode, samples: RolloutSamples.parse(columns, 1) };
}

/** A published version without shards and canary. */
export function madeUpWeights(version: number, source: WeightSource = { dir: "" }): AvailableWeights {
  const manifest = {
    format: "prl-weights",
    version,
    digest: String(version),
    base: null,
    encoding: "full" as const,
    shards: [],
    canary: null,
  };
  const nothing = async (): Promise<void> => undefined;
  return { manifest, source, acknowledge: nothing, release: nothing };
}
