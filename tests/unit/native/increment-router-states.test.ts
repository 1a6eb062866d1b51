/** The router as a state machine over a made-up engine: whatever comes in whatever order, every call ends and no later one waits for ever. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { NativeEngine, NativeIncrement } from "#native";
import { IncrementRouter } from "../../../ts/native/increment-router.ts";
import type { GenerateIncrement, GenerateRequest } from "../../../ts/native/engine.ts";

type Router = ConstructorParameters<typeof IncrementRouter>[0];
type NativeRequest = Parameters<NativeEngine["submit"]>[0][number];

const increment = (id: string, end: Partial<NativeIncrement>): NativeIncrement => ({
  id,
  tokenIds: Uint32Array.of(1),
  logprobs: Float32Array.of(-1),
  ranking: null,
  routedExperts: null,
  policyVersions: [0, 0],
  finishReason: null,
  stopReason: null,
  cachedTokens: 0,
  times: null,
  error: null,
  ...end,
});

const noFormats = { compile: (): never => expect.unreachable("no request here has a format") };

/** Runs requests a token a step; refuses those with a top_k of 13, and a submission with a top_k of 14 in it as a whole. */
class MadeUpEngine implements Router {
  readonly live = new Map<string, number>();
  #isDead = false;
  #arrived: NativeIncrement[] = [];
  #pull: { resolve: (arrived: NativeIncrement[]) => void; reject: (reason: Error) => void } | null = null;

  submit(requests: NativeRequest[]): void {
    if (requests.some(({ topK }) => topK === 14)) throw new Error("[PRL_ENGINE_INPUT] the whole submission is refused");
    for (const { id, maxTokens, topK } of requests) {
      if (topK === 13) this.#arrived.push(increment(id, { error: "[PRL_ENGINE_INPUT] refused by the engine" }));
      else this.live.set(id, maxTokens);
    }
    this.#answer();
  }

  abort(ids: string[]): void {
    if (this.#isDead) throw new Error("[PRL_NATIVE_PANIC] the generation thread panicked");
    for (const id of ids) if (this.live.delete(id)) this.#arrived.push(increment(id, { finishReason: "abort" }));
    this.#answer();
  }

  next(): Promise<NativeIncrement[]> {
    return new Promise((resolve, reject) => {
      this.#pull = { resolve, reject };
      this.#answer();
    });
  }

  step(): void {
    for (const [id, left] of this.live) {
      this.#arrived.push(increment(id, { finishReason: left <= 1 ? "length" : null }));
      if (left <= 1) this.live.delete(id);
      else this.live.set(id, left - 1);
    }
    this.#answer();
  }

  /** The thread dies: what is live ends with its last words, and every later call fails. */
  die(): void {
    const error = "[PRL_NATIVE_PANIC] the generation thread panicked";
    for (const id of this.live.keys()) this.#arrived.push(increment(id, { error }));
    this.live.clear();
    this.#isDead = true;
    this.#answer();
  }

  /** One pull fails. */
  fail(): void {
    this.#pull?.reject(new Error("[PRL_NATIVE_PANIC] the engine failed"));
    this.#pull = null;
  }

  /** The deadline of a pull passes with nothing to tell. */
  pullNothing(): void {
    this.#pull?.resolve([]);
    this.#pull = null;
  }

  #answer(): void {
    if (this.#pull === null || this.#arrived.length === 0) return;
    this.#pull.resolve(this.#arrived);
    [this.#pull, this.#arrived] = [null, []];
  }
}

/** What each kind of request ends with when nothing else ends it. */
const KINDS = { runs: 1, wrong: 2 ** 32, refused: 13, refusesAll: 14 } as const;
type Kind = keyof typeof KINDS;
type Reader = "reads all" | "leaves" | "aborts";
type Event = { call: Kind[]; reader: Reader } | "step" | "fail" | "pull nothing" | "abort one" | "wait";

const kind = fc.constantFrom<Kind>("runs", "runs", "runs", "wrong", "refused", "refusesAll");
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      call: fc.array(kind, { maxLength: 4 }),
      reader: fc.constantFrom<Reader>("reads all", "leaves", "aborts"),
    }),
  },
  { weight: 4, arbitrary: fc.constantFrom<Event>("step", "step", "fail", "pull nothing", "abort one", "wait") },
);

interface Run {
  seen: GenerateIncrement[];
  ended: string | null;
  stop: AbortController;
}

const requestsOf = (kinds: readonly Kind[]): GenerateRequest[] =>
  kinds.map((which, index) => ({
    id: String(index),
    promptTokenIds: [1],
    maxTokens: 1 + (index % 3),
    topK: KINDS[which],
  }));

function start(router: IncrementRouter, kinds: readonly Kind[], reader: Reader): Run {
  const run: Run = { seen: [], ended: null, stop: new AbortController() };
  const read = async () => {
    for await (const one of router.generate(requestsOf(kinds), run.stop.signal)) {
      run.seen.push(one);
      if (reader === "leaves") return;
      if (reader === "aborts") run.stop.abort(new Error("enough"));
    }
  };
  void read().then(
    () => (run.ended = "done"),
    (error: Error) => (run.ended = error.message),
  );
  return run;
}

/** Lets everything that is ready run. */
const settle = () => new Promise<void>((done) => setImmediate(done));

describe("the increment router", () => {
  test("a call of which nothing is accepted leaves the router as it was", async () => {
    for (const before of [[], ["wrong"], ["refusesAll"], ["refused"]] satisfies Kind[][]) {
      const engine = new MadeUpEngine();
      const router = new IncrementRouter(engine, noFormats);
      const first = start(router, before, "reads all");
      await settle();
      expect(first.ended).not.toBeNull();
      const second = start(router, ["runs"], "reads all");
      await settle();
      engine.step();
      await settle();
      expect(second.ended).toBe("done");
      expect(second.seen.at(-1)?.finishReason).toBe("length");
    }
  });

  test("every call ends, with one end for each request that it did not leave, and the pump stops", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (events) => {
        const engine = new MadeUpEngine();
        const router = new IncrementRouter(engine, noFormats);
        const runs: { run: Run; kinds: Kind[]; reader: Reader }[] = [];
        let failures = 0;
        for (const one of events) {
          if (typeof one === "object") {
            runs.push({ run: start(router, one.call, one.reader), kinds: one.call, reader: one.reader });
          } else if (one === "step") engine.step();
          else if (one === "pull nothing") engine.pullNothing();
          else if (one === "abort one") runs.find(({ run }) => run.ended === null)?.run.stop.abort(new Error("enough"));
          else if (one === "fail") {
            failures += 1;
            engine.fail();
          } else await settle();
        }
        // What is left takes at most as many steps as the longest request has tokens.
        for (let step = 0; step < 4; step++) {
          await settle();
          engine.step();
        }
        await settle();
        for (const { run, kinds, reader } of runs) {
          expect(run.ended).not.toBeNull();
          if (failures > 0 || reader === "leaves" || run.ended !== "done") continue;
          const ends = run.seen.filter(({ finishReason, error }) => finishReason !== null || error !== undefined);
          expect(ends.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(kinds.map((_, index) => index));
        }
        expect(engine.live.size).toBe(0);
        const stopped = await Promise.race([router.closed().then(() => true), settle().then(() => false)]);
        expect(stopped).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

test("requests under way when the engine's thread dies end with its failure, not with one of theirs", async () => {
  const engine = new MadeUpEngine();
  const run = start(new IncrementRouter(engine, noFormats), ["runs", "refused"], "reads all");
  await new Promise((resolve) => setImmediate(resolve));
  engine.die();
  await expect.poll(() => run.ended).not.toBeNull();
  const codes = Object.fromEntries(
    run.seen.flatMap(({ id, error }) => (error === undefined ? [] : [[id, error.code]])),
  );
  expect(codes).toEqual({ 0: "PRL_NATIVE_PANIC", 1: "PRL_ENGINE_INPUT" });
});
