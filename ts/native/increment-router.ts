/**
 * Hands the engine's increments, which arrive for all requests together, to the `generate` call that each belongs to.
 *
 * One pump pulls while the engine has any request of ours. Increments of a call wait in its own queue; a call that stops early aborts
 * its unfinished requests, and the pump goes on until the engine has ended them. The engine knows requests by our numbers, so that an id
 * can be used again while the engine still ends the request that had it.
 */

import type { NativeEngine, NativeIncrement } from "#native";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { checkOptions, number, numbers, only } from "../options.ts";
import { whole, wholes } from "./checks.ts";
import { fromNative, native } from "./errors.ts";
import type { GenerateIncrement, GenerateRequest } from "./engine.ts";

const PULL_DEADLINE_MS = 1000;
const MAX_SEED = Number.MAX_SAFE_INTEGER;
const NO_TOKENS = new Uint32Array(0);
const NO_LOGPROBS = new Float32Array(0);

type NativeRequest = Parameters<NativeEngine["submit"]>[0][number];

interface Call {
  queue: GenerateIncrement[];
  /** The caller's ids of unfinished requests by the engine's. */
  unfinished: Map<string, string>;
  wake: (() => void) | undefined;
  failure: unknown;
  /** Its caller has stopped reading; further increments are dropped. */
  isLeft: boolean;
}

export class IncrementRouter {
  readonly #engine: Pick<NativeEngine, "submit" | "abort" | "next">;
  readonly #calls = new Map<string, Call>();
  #submitted = 0;
  /** True from the moment the pump starts until it has seen that no request is left. */
  #isPumping = false;
  #pump: Promise<void> = Promise.resolve();

  constructor(engine: Pick<NativeEngine, "submit" | "abort" | "next">) {
    this.#engine = engine;
  }

  async *generate(requests: GenerateRequest[], signal?: AbortSignal): AsyncGenerator<GenerateIncrement> {
    signal?.throwIfAborted();
    const call: Call = { queue: [], unfinished: new Map(), wake: undefined, failure: undefined, isLeft: false };
    const abort = () => this.#abort(call);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      this.#submit(requests, call);
      while (call.unfinished.size > 0 || call.queue.length > 0) {
        const increment = call.queue.shift();
        if (increment !== undefined) {
          yield increment;
        } else if (call.failure !== undefined) {
          throw call.failure;
        } else {
          await new Promise<void>((resolve) => (call.wake = resolve));
        }
      }
      signal?.throwIfAborted();
    } finally {
      signal?.removeEventListener("abort", abort);
      call.isLeft = true;
      abort();
    }
  }

  /** Resolves when the pump has stopped; every waiting call has then been answered. */
  async closed(): Promise<void> {
    await this.#pump;
  }

  /** Hands the requests to the engine, and pulls from then on; invalid requests get their refusal in the call's queue. */
  #submit(requests: readonly GenerateRequest[], call: Call): void {
    const accepted = this.#accept(requests, call);
    if (accepted.size === 0) return;
    native(() => this.#engine.submit([...accepted.values()].map(({ converted }) => converted)));
    for (const [key, { id }] of accepted) {
      this.#calls.set(key, call);
      call.unfinished.set(key, id);
    }
    if (!this.#isPumping) this.#pump = this.#run();
  }

  /** The requests that the engine gets, by the engine's ids. */
  #accept(requests: readonly GenerateRequest[], call: Call): Map<string, { id: string; converted: NativeRequest }> {
    const ids = new Set<string>();
    const accepted = new Map<string, { id: string; converted: NativeRequest }>();
    for (const request of requests) {
      try {
        if (ids.has(request.id)) throw invalid(`two requests of one call have the id "${request.id}"`);
        ids.add(request.id);
        const key = String(this.#submitted++);
        accepted.set(key, { id: request.id, converted: toNative(request, key) });
      } catch (error) {
        if (!(error instanceof PrlError)) throw error;
        call.queue.push(refused(request.id, error));
      }
    }
    return accepted;
  }

  /** Ends a call's unfinished requests. An engine that is closed or gone has ended them already, and the pump learns it. */
  #abort({ unfinished }: Call): void {
    if (unfinished.size === 0) return;
    try {
      this.#engine.abort([...unfinished.keys()]);
    } catch (error) {
      const known = fromNative(error);
      if (!(known instanceof PrlError && ENGINE_GONE.has(known.code))) throw known;
    }
  }

  async #run(): Promise<void> {
    this.#isPumping = true;
    try {
      while (this.#calls.size > 0) {
        for (const increment of await this.#engine.next(PULL_DEADLINE_MS)) this.#deliver(increment);
      }
    } catch (error) {
      for (const call of new Set(this.#calls.values())) {
        call.failure = fromNative(error);
        call.wake?.();
      }
      this.#calls.clear();
    } finally {
      this.#isPumping = false;
    }
  }

  /** Why the engine is gone; null while it exists. An increment has only the text of an error; this gives its code. */
  #engineFailure(): PrlError | null {
    try {
      native(() => this.#engine.abort([]));
      return null;
    } catch (error) {
      if (!(error instanceof PrlError && ENGINE_GONE.has(error.code))) throw error;
      return error;
    }
  }

  #deliver(increment: NativeIncrement): void {
    const call = this.#calls.get(increment.id);
    const id = call?.unfinished.get(increment.id);
    if (call === undefined || id === undefined) return;
    const converted = fromNativeIncrement(increment, id, increment.error === null ? null : this.#engineFailure());
    if (isLast(converted)) {
      this.#calls.delete(increment.id);
      call.unfinished.delete(increment.id);
    }
    if (call.isLeft) return;
    call.queue.push(converted);
    call.wake?.();
    call.wake = undefined;
  }
}

const CODE = "PRL_ENGINE_INPUT";

const requestSchema = only<GenerateRequest>({
  id: z.string(),
  promptTokenIds: numbers,
  maxTokens: number,
  minTokens: number.optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: number.optional(),
  seed: number.optional(),
  stopTokenIds: numbers.optional(),
  ignoreEos: z.boolean().optional(),
  cacheSalt: z.string().optional(),
  priority: number.optional(),
  finalOnly: z.boolean().optional(),
});

const ENGINE_GONE = new Set(["PRL_ENGINE_CLOSED", "PRL_NATIVE_PANIC"]);

function isLast({ finishReason, error }: GenerateIncrement): boolean {
  return finishReason !== null || error !== undefined;
}

function toNative(request: GenerateRequest, id: string): NativeRequest {
  checkOptions(CODE, "generate", requestSchema, request);
  return {
    id,
    promptTokenIds: wholes(CODE, "promptTokenIds", request.promptTokenIds),
    maxTokens: whole(CODE, "maxTokens", request.maxTokens),
    minTokens: whole(CODE, "minTokens", request.minTokens ?? 0),
    temperature: request.temperature ?? 1,
    topP: request.topP ?? 1,
    topK: whole(CODE, "topK", request.topK ?? -1, { min: -1 }),
    seed: whole(CODE, "seed", request.seed ?? 0, { max: MAX_SEED }),
    stopTokenIds: [...wholes(CODE, "stopTokenIds", request.stopTokenIds ?? [])],
    ignoreEos: request.ignoreEos ?? false,
    cacheSalt: request.cacheSalt ?? null,
    priority: whole(CODE, "priority", request.priority ?? 0, { min: -MAX_SEED, max: MAX_SEED }),
    finalOnly: request.finalOnly ?? false,
  };
}

function fromNativeIncrement(increment: NativeIncrement, id: string, failure: PrlError | null): GenerateIncrement {
  const pairs = increment.policyVersions;
  const policyVersions: [number, number][] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) policyVersions.push([pairs[i] ?? 0, pairs[i + 1] ?? 0]);
  return {
    id,
    tokenIds: increment.tokenIds,
    logprobs: increment.logprobs,
    policyVersions,
    finishReason: increment.finishReason as GenerateIncrement["finishReason"],
    stopReason: increment.stopReason,
    cachedTokens: increment.cachedTokens,
    ...(increment.error === null ? {} : { error: failure ?? invalid(increment.error) }),
  };
}

function invalid(message: string): PrlError {
  return new PrlError(CODE, message);
}

function refused(id: string, error: PrlError): GenerateIncrement {
  return {
    id,
    tokenIds: NO_TOKENS,
    logprobs: NO_LOGPROBS,
    policyVersions: [],
    finishReason: null,
    stopReason: null,
    cachedTokens: 0,
    error,
  };
}
