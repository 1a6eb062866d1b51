/**
 * Hands the engine's increments, which arrive for all requests together, to the `generate` call that each belongs to.
 *
 * One pump pulls while any request is unfinished. Increments of a call wait in its own queue; a call that stops early aborts what is
 * left of it.
 */

import type { NativeEngine, NativeIncrement } from "#native";
import { PrlError } from "../errors.ts";
import { fromNative, native } from "./errors.ts";
import type { GenerateIncrement, GenerateRequest } from "./engine.ts";

const PULL_DEADLINE_MS = 1000;
const NO_TOKENS = new Uint32Array(0);
const NO_LOGPROBS = new Float32Array(0);

interface Call {
  queue: GenerateIncrement[];
  unfinished: Set<string>;
  wake: (() => void) | undefined;
  failure: unknown;
}

export class IncrementRouter {
  readonly #engine: NativeEngine;
  readonly #calls = new Map<string, Call>();
  #pump: Promise<void> | undefined;

  constructor(engine: NativeEngine) {
    this.#engine = engine;
  }

  async *generate(requests: GenerateRequest[], signal?: AbortSignal): AsyncGenerator<GenerateIncrement> {
    signal?.throwIfAborted();
    const call: Call = { queue: [], unfinished: new Set(), wake: undefined, failure: undefined };
    const accepted = requests.filter((request) => {
      if (!this.#calls.has(request.id)) {
        this.#calls.set(request.id, call);
        call.unfinished.add(request.id);
        return true;
      }
      call.queue.push(refused(request.id, `a request with the id "${request.id}" is running already`));
      return false;
    });
    const abort = () => native(() => this.#engine.abort([...call.unfinished]));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      native(() => this.#engine.submit(accepted.map(toNative)));
      this.#pump ??= this.#run();
      while (call.unfinished.size > 0 || call.queue.length > 0) {
        const increment = call.queue.shift();
        if (increment !== undefined) {
          if (isLast(increment)) call.unfinished.delete(increment.id);
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
      if (call.unfinished.size > 0) {
        abort();
        for (const id of call.unfinished) this.#calls.delete(id);
      }
    }
  }

  /** Resolves when the pump has stopped; every waiting call has then been answered. */
  async closed(): Promise<void> {
    await this.#pump;
  }

  async #run(): Promise<void> {
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
      this.#pump = undefined;
    }
  }

  #deliver(increment: NativeIncrement): void {
    const call = this.#calls.get(increment.id);
    if (call === undefined) return;
    const converted = fromNativeIncrement(increment);
    if (isLast(converted)) this.#calls.delete(increment.id);
    call.queue.push(converted);
    call.wake?.();
    call.wake = undefined;
  }
}

function isLast({ finishReason, error }: GenerateIncrement): boolean {
  return finishReason !== null || error !== undefined;
}

function toNative(request: GenerateRequest) {
  return {
    id: request.id,
    promptTokenIds: Uint32Array.from(request.promptTokenIds),
    maxTokens: request.maxTokens,
    minTokens: request.minTokens ?? 0,
    temperature: request.temperature ?? 1,
    topP: request.topP ?? 1,
    topK: request.topK ?? -1,
    seed: request.seed ?? 0,
    stopTokenIds: request.stopTokenIds ?? [],
    ignoreEos: request.ignoreEos ?? false,
    cacheSalt: request.cacheSalt ?? null,
    priority: request.priority ?? 0,
    finalOnly: request.finalOnly ?? false,
  };
}

function fromNativeIncrement(increment: NativeIncrement): GenerateIncrement {
  const pairs = increment.policyVersions;
  const policyVersions: [number, number][] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2) policyVersions.push([pairs[i] ?? 0, pairs[i + 1] ?? 0]);
  return {
    id: increment.id,
    tokenIds: increment.tokenIds,
    logprobs: increment.logprobs,
    policyVersions,
    finishReason: increment.finishReason as GenerateIncrement["finishReason"],
    stopReason: increment.stopReason,
    cachedTokens: increment.cachedTokens,
    ...(increment.error === null ? {} : { error: new PrlError("PRL_ENGINE_INPUT", increment.error) }),
  };
}

function refused(id: string, message: string): GenerateIncrement {
  return {
    id,
    tokenIds: NO_TOKENS,
    logprobs: NO_LOGPROBS,
    policyVersions: [],
    finishReason: null,
    stopReason: null,
    cachedTokens: 0,
    error: new PrlError("PRL_ENGINE_INPUT", message),
  };
}
