/**
 * Teachers' scores of the tokens of finished rollouts, for algorithms that distil: `opd` asks the teacher of its source, `opsd` asks the policy
 * itself, or a teacher, with a hint in front.
 *
 * A group is scored when its last rollout has ended, while everything else goes on. A score whose engine leaves service is asked of another one. When a
 * score fails, its rollout becomes an errored one, which is counted and does not train. Scores are kept as long as the samples that they belong to.
 */
import type { AlgoBlock, TeacherBlock } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import { type ReceivedEpisode, toEpisodeError, UNSAMPLED_VERSION } from "../../environments/records.ts";
import { type Message } from "../../message.ts";
import { PrlError } from "../../errors.ts";
import type { RolloutSamples, TraceColumns } from "../../native/index.ts";
import { PromptScorer } from "../../inference-client/index.ts";
import { branchesOf, hintedPrompt, type HintRenderer } from "../../algorithms/internal.ts";
import type { EngineFleet, EngineLease } from "../engines/engine-fleet.ts";
import { joinedIds } from "../../renderers/internal.ts";
import { assertSameTokenizer, teacherKey } from "./teacher.ts";

/** A score of the policy itself competes with rollouts. */
const POLICY_DEADLINE_MS = 600_000;
const POLICY_CONNECTIONS = 64;
/** Engines that may be lost while they score; more losses than this are no accident. */
const MOST_LOSSES = 10;

export interface ReferenceScoresOptions {
  sources: readonly { name: string; algo: AlgoBlock }[];
  engines: Pick<EngineFleet, "take">;
  /** Name that the engines know the policy by. */
  modelName: string;
  /** Its tokenizer and template; `opsd` and teachers need them. */
  modelDir?: string | undefined;
}

interface TraceToScore {
  algo: AlgoBlock;
  /** The data of its task. */
  data: unknown;
  trace: EpisodeTrace;
  columns: TraceColumns;
  signal: AbortSignal;
}

/** The tokens of one branch. */
interface Branch {
  start: number;
  end: number;
  /** The first token that the policy sampled. */
  firstSampled: number;
  /** Messages before it. */
  prompt: readonly Message[];
}

export class ReferenceScores {
  readonly #options: ReferenceScoresOptions;
  readonly #algos: ReadonlyMap<string, AlgoBlock>;
  readonly #scores = new WeakMap<RolloutSamples, readonly (Float32Array | null)[]>();
  readonly #scorers = new Map<string, PromptScorer>();
  #renderer: Promise<HintRenderer> | undefined;

  constructor(options: ReferenceScoresOptions) {
    this.#options = options;
    this.#algos = new Map(options.sources.map(({ name, algo }) => [name, algo]));
  }

  /** The scores of a trace's tokens; null when the trace was not scored. */
  of(samples: RolloutSamples, trace: number): Float32Array | null {
    return this.#scores.get(samples)?.[trace] ?? null;
  }

  /**
   * Asks each teacher for one short score, if it has to score, and for the ids of a text. Errors: PRL_INFERENCE_*, PRL_TEACHER_TOKENIZER; they
   * name the source whose teacher cannot be used.
   */
  async check(signal: AbortSignal): Promise<void> {
    for (const [source, { teacher, type }] of this.#algos) {
      if (teacher === null) continue;
      const scorer = this.#teacher(teacher);
      try {
        if (type !== "sft") await scorer.score(Uint32Array.of(0, 1), signal);
        if (teacher.check_tokenizer) {
          const { loadTokenizer } = await import("../../renderers/index.ts");
          await assertSameTokenizer(scorer, await loadTokenizer(this.#modelDir()), signal);
        }
      } catch (error) {
        if (!(error instanceof PrlError)) throw error;
        throw new PrlError(error.code, `the teacher of source "${source}": ${error.message}`, { cause: error });
      }
    }
  }

  /** The rollouts of a group of `source`; those that could not be scored are errored. */
  async score(source: string, rollouts: readonly ReceivedEpisode[], signal: AbortSignal): Promise<ReceivedEpisode[]> {
    const algo = this.#algos.get(source);
    if (algo?.type !== "opd" && algo?.type !== "opsd") return [...rollouts];
    return Promise.all(
      rollouts.map(async (rollout) => {
        const { episode, samples } = rollout;
        if (!episode.ok || samples === null) return rollout;
        try {
          const columns = samples.columns();
          const scored = episode.traces.map(async (trace, i) => {
            const own = columns[i];
            if (own === undefined)
              throw new PrlError("PRL_PACKING_INPUT", `${episode.id} has no columns of trace ${i}`);
            // Nothing uses the score of a trace that does not train, and one that cannot be had would end the rollout.
            if (!trace.trainable) return null;
            return this.#scoreTrace({ algo, data: episode.task.data, trace, columns: own, signal });
          });
          this.#scores.set(samples, await Promise.all(scored));
          return rollout;
        } catch (error) {
          return { ...rollout, episode: { ...episode, ok: false, errors: [toEpisodeError(error)] } };
        }
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.#scorers.values()].map((scorer) => scorer.close()));
  }

  async #scoreTrace({ algo, data, trace, columns, signal }: TraceToScore): Promise<Float32Array> {
    const { tokenIds } = columns;
    const reference = new Float32Array(tokenIds.length);
    for (const branch of branchesWithTokens(trace, columns)) {
      const { start, end, firstSampled } = branch;
      if (algo.type === "opd") {
        reference.set(await this.#score(algo, tokenIds.slice(start, end), signal), start);
        continue;
      }
      const hinted = await this.#hinted(algo, data, trace, branch);
      const behind = tokenIds.subarray(firstSampled, end);
      const scores = await this.#score(algo, joinedIds(hinted, behind), signal);
      reference.set(scores.subarray(hinted.length), firstSampled);
    }
    return reference;
  }

  async #hinted(algo: AlgoBlock, data: unknown, { asked }: EpisodeTrace, { prompt }: Branch): Promise<Uint32Array> {
    const key = algo.demo_key ?? "";
    const hint = (data as Record<string, unknown> | null)?.[key];
    if (typeof hint !== "string") {
      throw new PrlError(
        "PRL_ADVANTAGE_INPUT",
        `the task's data has no text "${key}", which demo_key says is the hint`,
      );
    }
    if (asked === "varied") {
      throw new PrlError(
        "PRL_ADVANTAGE_INPUT",
        "the prompts of the trace are of several forms: no hint can be put in front",
      );
    }
    const { is_text: isText = false, tools } = asked ?? {};
    const form = { messages: prompt, isText, ...(tools !== undefined && { tools }) };
    return hintedPrompt(form, hint, algo.template, await (this.#renderer ??= this.#openRenderer()));
  }

  async #openRenderer(): Promise<HintRenderer> {
    const modelDir = this.#modelDir();
    const { loadRenderer, loadTokenizer } = await import("../../renderers/index.ts");
    const [tokenizer, renderer] = await Promise.all([loadTokenizer(modelDir), loadRenderer(modelDir)]);
    return {
      render: (messages, tools) => renderer.renderAsync(messages, tools === undefined ? {} : { tools }),
      encode: (text) => tokenizer.encodeAsync(text),
    };
  }

  #modelDir(): string {
    const { modelDir } = this.#options;
    if (modelDir !== undefined) return modelDir;
    throw new PrlError("PRL_CONFIG_INVALID", "distillation needs the folder of the model's tokenizer");
  }

  /** Scores with the teacher where there is one, with the policy otherwise. */
  async #score({ teacher }: AlgoBlock, ids: Uint32Array, signal: AbortSignal): Promise<Float32Array> {
    return teacher === null ? this.#policyScore(ids, signal) : this.#teacher(teacher).score(ids, signal);
  }

  async #policyScore(ids: Uint32Array, signal: AbortSignal): Promise<Float32Array> {
    for (let losses = 0; ; losses++) {
      const lease = await this.#options.engines.take(`reference ${ids[0]}`, signal);
      try {
        const model = lease.model ?? this.#options.modelName;
        const options = { url: lease.url, model, deadlineMs: POLICY_DEADLINE_MS, connections: POLICY_CONNECTIONS };
        return await this.#scorer(options).score(ids, lease.signal);
      } catch (error) {
        if (signal.aborted || losses === MOST_LOSSES || !(await isLost(lease, error))) throw error;
      } finally {
        lease.release();
      }
    }
  }

  #teacher(teacher: TeacherBlock): PromptScorer {
    return this.#scorer({
      url: teacher.base_url,
      ...(teacher.model !== null && { model: teacher.model }),
      api: teacher.api,
      ...teacherKey(teacher),
      deadlineMs: teacher.timeout_s * 1000,
      connections: teacher.max_concurrent,
    });
  }

  #scorer(options: ConstructorParameters<typeof PromptScorer>[0]): PromptScorer {
    const id = `${options.api ?? ""} ${options.model ?? ""} ${options.url}`;
    const scorer = this.#scorers.get(id) ?? new PromptScorer(options);
    this.#scorers.set(id, scorer);
    return scorer;
  }
}

/** Whether the engine left service, rather than refused the score. */
async function isLost(lease: EngineLease, error: unknown): Promise<boolean> {
  if (lease.lost !== null) return true;
  const isReached = !(error instanceof PrlError) || error.code !== "PRL_INFERENCE_UNREACHABLE";
  return !isReached && !(await lease.suspect());
}

/** The branches of a trace that hold sampled tokens. */
function branchesWithTokens({ nodes }: EpisodeTrace, { branchOffsets, versionSpans }: TraceColumns): Branch[] {
  const paths = branchesOf(nodes);
  return Array.from(branchOffsets.subarray(1), (end, b) => {
    const start = branchOffsets[b] ?? 0;
    const path = paths[b] ?? [];
    const reply = path.findIndex(({ sampled }) => sampled);
    let firstSampled = end;
    for (let i = 0; i < versionSpans.length && firstSampled === end; i += 2) {
      const at = versionSpans[i] ?? 0;
      if (at >= start && at < end && versionSpans[i + 1] !== UNSAMPLED_VERSION) firstSampled = at;
    }
    // The message was parsed from JSON, so optional keys are absent, never undefined.
    const prompt = path.slice(0, Math.max(0, reply)).map(({ message }) => message as Message);
    return { start, end, firstSampled, prompt };
  }).filter(({ firstSampled, end }) => firstSampled < end);
}
