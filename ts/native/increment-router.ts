/**
 * Hands the engine's increments, which arrive for all requests together, to the `generate` call that each belongs to.
 *
 * One pump pulls while the engine has any request of ours. Increments of a call wait in its own queue; a call that stops early aborts
 * its unfinished requests, and the pump goes on until the engine has ended them. The engine knows requests by our numbers, so that an id
 * can be used again while the engine still ends the request that had it.
 */

import type { NativeEngine, NativeGrammar, NativeIncrement } from "#native";

import { PrlError } from "../errors.ts";
import { fromNative, native } from "./errors.ts";
import {
  fromNativeIncrement,
  invalidRequest,
  refusedIncrement,
  toNativeRequest,
  type GenerateIncrement,
  type GenerateRequest,
  type NativeRequest,
} from "./generation.ts";
import type { Formats } from "./formats/structured-output.ts";

const PULL_DEADLINE_MS = 1000;
const ENGINE_GONE = new Set(["PRL_ENGINE_CLOSED", "PRL_NATIVE_PANIC"]);

type CompiledFormats = Map<GenerateRequest, NativeGrammar | PrlError>;

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
  readonly #formats: Pick<Formats, "compile">;
  readonly #calls = new Map<string, Call>();
  #submitted = 0;
  /** True from the moment the pump starts until it has seen that no request is left. */
  #isPumping = false;
  #pump: Promise<void> = Promise.resolve();

  constructor(engine: Pick<NativeEngine, "submit" | "abort" | "next">, formats: Pick<Formats, "compile">) {
    this.#engine = engine;
    this.#formats = formats;
  }

  async *generate(requests: GenerateRequest[], signal?: AbortSignal): AsyncGenerator<GenerateIncrement> {
    signal?.throwIfAborted();
    const hasFormats = requests.some(({ structuredOutput }) => structuredOutput !== undefined);
    const formats: CompiledFormats = hasFormats ? await this.#compile(requests) : new Map();
    signal?.throwIfAborted();
    const call: Call = { queue: [], unfinished: new Map(), wake: undefined, failure: undefined, isLeft: false };
    const abort = () => this.#abort(call);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      this.#submit(requests, formats, call);
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

  /** The formats of the requests that have one, or why they cannot be had. */
  async #compile(requests: readonly GenerateRequest[]): Promise<CompiledFormats> {
    const formats: CompiledFormats = new Map();
    for (const request of requests) {
      if (request.structuredOutput === undefined) continue;
      try {
        formats.set(request, await this.#formats.compile(request.structuredOutput));
      } catch (error) {
        if (!(error instanceof PrlError)) throw error;
        formats.set(request, error);
      }
    }
    return formats;
  }

  /** Resolves when the pump has stopped; every waiting call has then been answered. */
  async closed(): Promise<void> {
    await this.#pump;
  }

  /** Hands the requests to the engine, and pulls from then on; invalid requests get their refusal in the call's queue. */
  #submit(requests: readonly GenerateRequest[], formats: CompiledFormats, call: Call): void {
    const accepted = this.#accept(requests, formats, call);
    if (accepted.size === 0) return;
    native(() => this.#engine.submit([...accepted.values()].map(({ converted }) => converted)));
    for (const [key, { id }] of accepted) {
      this.#calls.set(key, call);
      call.unfinished.set(key, id);
    }
    if (!this.#isPumping) this.#pump = this.#run();
  }

  /** The requests that the engine gets, by the engine's ids. */
  #accept(
    requests: readonly GenerateRequest[],
    formats: CompiledFormats,
    call: Call,
  ): Map<string, { id: string; converted: NativeRequest }> {
    const ids = new Set<string>();
    const accepted = new Map<string, { id: string; converted: NativeRequest }>();
    for (const request of requests) {
      try {
        if (ids.has(request.id)) throw invalidRequest(`two requests of one call have the id "${request.id}"`);
        ids.add(request.id);
        const format = formats.get(request) ?? null;
        if (format instanceof PrlError) throw format;
        const key = String(this.#submitted++);
        accepted.set(key, { id: request.id, converted: toNativeRequest(request, key, format) });
      } catch (error) {
        if (!(error instanceof PrlError)) throw error;
        call.queue.push(refusedIncrement(request.id, error));
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

  #deliver(increment: NativeIncrement): void {
    const call = this.#calls.get(increment.id);
    const id = call?.unfinished.get(increment.id);
    if (call === undefined || id === undefined) return;
    const converted = fromNativeIncrement(increment, id);
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

function isLast({ finishReason, error }: GenerateIncrement): boolean {
  return finishReason !== null || error !== undefined;
}
