/** Streams of choices end with the request, whatever their client does. */
import type { FastifyReply } from "fastify";
import { expect, it } from "vitest";

import type { ServerContext } from "../../../ts/inference/context.ts";
import { streamed } from "../../../ts/inference/openai/answer.ts";
import type { ActiveRequest } from "../../../ts/inference/requests/active-request.ts";
import { parseGenerateRequest } from "../../../ts/inference/requests/request.ts";

const LIMITS = {
  vocabSize: 100,
  maxModelLen: 16,
  servedModelNames: [],
  returnsRoutedExperts: false,
  adapters: new Set<string>(),
};

it("a choice whose chunk cannot be sent is counted as aborted, and so are the others", async () => {
  const ended: string[] = [];
  async function* generate() {
    for (;;) {
      await Promise.resolve();
      const tokenIds = Uint32Array.of(1);
      const logprobs = new Float32Array(1);
      yield { id: "", tokenIds, logprobs, policyVersions: [], finishReason: null, stopReason: null, cachedTokens: 0 };
    }
  }
  const context = {
    model: { generate },
    nextId: () => "0",
    nextSeed: () => 0,
    progress: { over: (increments: unknown) => increments },
    requestMetrics: { begin: () => ({ tokens: () => undefined, end: (reason: string) => ended.push(reason) }) },
  } as unknown as ServerContext;
  const raw = { writeHead: () => raw, write: () => true, end: () => raw, writableEnded: false, destroyed: false };
  const active = {
    signal: new AbortController().signal,
    race: <T>(work: Promise<T>) => work,
  } as unknown as ActiveRequest;
  const parsed = parseGenerateRequest({ token_ids: [1], sampling_params: {}, stream: true }, LIMITS);
  const head = { id: "", object: "", created: 0, model: "" };
  const reply = { hijack: () => undefined, raw } as unknown as FastifyReply;
  await streamed(context, { head, requests: [parsed, parsed], perPrompt: 2, active, reply }, async ({ chunks }) => {
    for await (const _ of chunks) throw new Error("the client is gone");
    throw new Error("nothing came");
  });
  await new Promise((done) => setImmediate(done));
  expect(ended).toEqual(["abort", "abort"]);
});
