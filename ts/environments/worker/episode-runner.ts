/**
 * Runs rollouts in this process: bounded in number, each with its deadline, any of them cancellable.
 *
 * Every accepted rollout ends in exactly one episode, whatever happens to it. This file knows no HTTP server.
 */
import { onAbort } from "../../async/aborted.ts";
import { PrlError } from "../../errors.ts";
import { InferenceClient } from "../../inference-client/index.ts";
import type { ConfiguredEnvironment } from "../model/configured-environment.ts";
import { toEpisodeError } from "../episode/episode.ts";
import type { EpisodeFrame } from "../episode/episode-frame.ts";
import type { PolicyClient } from "../rollout/policy-client.ts";
import type { PolicyRenderer, PolicyTokenizer } from "../model/tokenizer.ts";
import { failedEpisode, type RunRequest, samplingOf } from "./protocol.ts";
import { Slots } from "../../async/slots.ts";

export interface RunnerParts {
  readonly tokenizer: PolicyTokenizer;
  readonly renderer: PolicyRenderer;
  /** Number of the model's token ids, beyond which an engine's answer is refused; null or absent: unknown. */
  readonly vocabSize?: number | null;
}

export class EpisodeRunner {
  readonly #tokenizer: PolicyTokenizer;
  readonly #renderer: PolicyRenderer;
  readonly #vocabSize: number | null;
  readonly #slots: Slots;
  readonly #active = new Map<string, AbortController>();
  readonly #engines = new Map<string, InferenceClient>();
  #stopped: PrlError | null = null;

  constructor({ tokenizer, renderer, vocabSize = null }: RunnerParts, maxConcurrent: number) {
    this.#tokenizer = tokenizer;
    this.#renderer = renderer;
    this.#vocabSize = vocabSize;
    this.#slots = new Slots(maxConcurrent);
  }

  /** Episodes that have not ended, waiting ones included. */
  get active(): number {
    return this.#active.size;
  }

  /** Those of them that wait for a slot. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  isActive(episodeId: string): boolean {
    return this.#active.has(episodeId);
  }

  /** Never rejects. `disconnected` cancels like `cancel` does. */
  async run(environment: ConfiguredEnvironment, request: RunRequest, disconnected: AbortSignal): Promise<EpisodeFrame> {
    const abort = new AbortController();
    const { signal } = abort;
    const onDisconnect = (): void => abort.abort(cancelled("the connection that ordered it was closed"));
    disconnected.addEventListener("abort", onDisconnect, { once: true });
    let started = false;
    const timer = setTimeout(() => abort.abort(deadlinePassed(request.deadline_ms, started)), request.deadline_ms);
    this.#active.set(request.episode_id, abort);
    try {
      if (this.#stopped !== null) throw this.#stopped;
      return await this.#slots.run(signal, async () => {
        started = true;
        return environment.run({
          episodeId: request.episode_id,
          groupId: request.group_id,
          source: request.env,
          task: request.task,
          client: this.#clientFor(request),
          tokenizer: this.#tokenizer,
          renderer: this.#renderer,
          sampling: samplingOf(request.sampling),
          seed: request.seed,
          run: request.run,
          signal,
          ...(request.keep_partial === true && { keepsPartial: true }),
          ...(request.partial !== undefined && { partial: request.partial }),
        });
      });
    } catch (error) {
      return { episode: failedEpisode(request, toEpisodeError(error), environment.name), columns: [] };
    } finally {
      clearTimeout(timer);
      disconnected.removeEventListener("abort", onDisconnect);
      this.#active.delete(request.episode_id);
    }
  }

  /** False when no such episode is under way. Its episode comes back with an `infra` error. */
  cancel(episodeId: string): boolean {
    const abort = this.#active.get(episodeId);
    abort?.abort(cancelled("it was cancelled"));
    return abort !== undefined;
  }

  /** Cancels everything, takes nothing more, and closes the connections to the engines. */
  async stop(): Promise<void> {
    this.#stopped = cancelled("the env worker is stopping");
    for (const abort of this.#active.values()) abort.abort(this.#stopped);
    await Promise.all([...this.#engines.values()].map((engine) => engine.close()));
  }

  #clientFor({ inference, cache_salt, priority, episode_id, deadline_ms }: RunRequest): PolicyClient {
    const engine = this.#engine(inference);
    let calls = 0;
    return {
      async generate({ tokenIds, sampling, seed, signal, stop = [], keepsPartial = false, ...request }) {
        const { format, onTokens, routedExpertsFrom } = request;
        const { temperature, maxCompletionTokens, topP, topK } = sampling;
        const requestId = `${episode_id}-${calls}`;
        calls += 1;
        const ends = keepsPartial ? endsOf(signal) : { signal };
        return engine.generate({
          tokenIds,
          sampling: {
            temperature,
            topP,
            topK,
            seed,
            ...(maxCompletionTokens === null ? {} : { maxTokens: maxCompletionTokens }),
            ...(stop.length > 0 && { stop }),
            ...(format !== undefined && { format }),
          },
          cacheSalt: cache_salt,
          priority,
          requestId,
          ...ends,
          deadlineMs: deadline_ms,
          ...(onTokens !== undefined && { onTokens }),
          ...(routedExpertsFrom !== undefined && { routedExpertsFrom }),
        });
      },
    };
  }

  #engine({ url, model, api = "prl", api_key: apiKey }: RunRequest["inference"]): InferenceClient {
    const key = JSON.stringify([url, model, api, apiKey]);
    const known = this.#engines.get(key);
    if (known !== undefined) return known;
    const engine = new InferenceClient({
      url,
      api,
      ...(model !== null && { model }),
      ...(apiKey !== undefined && { apiKey }),
      ...(this.#vocabSize !== null && { vocabSize: this.#vocabSize }),
    });
    this.#engines.set(key, engine);
    return engine;
  }
}

/** The call of a cancelled rollout is cut; that of a rollout that ended for another reason is aborted. */
function endsOf(signal: AbortSignal): { signal: AbortSignal; cut: AbortSignal } {
  const [cut, abort] = [new AbortController(), new AbortController()];
  onAbort(signal, () => {
    const reason: unknown = signal.reason;
    const isCancelled = reason instanceof PrlError && reason.code === "PRL_EPISODE_CANCELLED";
    (isCancelled ? cut : abort).abort(reason);
  });
  return { signal: abort.signal, cut: cut.signal };
}

function cancelled(why: string): PrlError {
  return new PrlError("PRL_EPISODE_CANCELLED", `the rollout did not end: ${why}`);
}

/** For a rollout that never got a slot the environment is not at fault. */
function deadlinePassed(deadlineMs: number, started: boolean): PrlError {
  return started
    ? new PrlError("PRL_ENVIRONMENT_TIMEOUT", `the rollout did not end within ${deadlineMs} ms`)
    : new PrlError("PRL_DEADLINE", `the rollout waited ${deadlineMs} ms for a free slot of the env worker`);
}
