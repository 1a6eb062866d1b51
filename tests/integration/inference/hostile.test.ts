/** Requests that must not harm those after them: refused ones, deep ones, bodies that never come, callers from elsewhere. */
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

import { createInferenceServer, type InferenceServerOptions } from "../../../ts/inference/index.ts";
import { loadModel, type Model } from "../../../ts/native/index.ts";
import { PROMPT, useServing, type Serving } from "./serving.ts";
import { damagedCopy, VOCAB_SIZE } from "./tiny-model.ts";

const serving = useServing();
let model: Serving["model"];
let url: Serving["url"];

beforeAll(() => {
  ({ model, url } = serving());
});

const GENERATE = "/inference/v1/generate";
const SAMPLE = { token_ids: PROMPT, sampling_params: { max_tokens: 2, ignore_eos: true } };

/** A second server over the same engine, or over what `wrapped` makes of it, for as long as `use` runs. */
async function beside(
  options: Partial<InferenceServerOptions>,
  use: (url: string, server: Awaited<ReturnType<typeof createInferenceServer>>) => Promise<void>,
  wrapped: Model = model,
): Promise<void> {
  const server = await createInferenceServer(wrapped, { modelDir: serving().folder(0).dir, ...options });
  try {
    await use(await server.listen("127.0.0.1", 0), server);
  } finally {
    await server.close();
  }
}

describe("a request that is refused", () => {
  it.each([
    ["top_k beyond 32 bits", { top_k: 2 ** 32 }],
    ["min_tokens beyond 32 bits", { min_tokens: 2 ** 32 }],
  ])("leaves an idle server as it was: %s", async (_name, params) => {
    const refused = await serving().post(GENERATE, { ...SAMPLE, sampling_params: params });
    expect(refused.status).toBe(400);
    expect((await serving().post(GENERATE, SAMPLE)).status).toBe(200);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it("leaves the engine as it was when a call has no requests", async () => {
    for await (const increment of model.generate([])) expect(increment).toBeUndefined();
    expect((await serving().post(GENERATE, SAMPLE)).status).toBe(200);
  });
});

describe("JSON that is deep", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const body = (value: string): Record<string, string> => ({
    [GENERATE]: `{"token_ids":${value}}`,
    "/v1/chat/completions": `{"model":"tiny","messages":[{"role":"user","content":"a","more":${value}}]}`,
    "/v1/completions": `{"model":"tiny","prompt":"a","metadata":${value}}`,
    "/tokenize": `{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{"a":${value}}}`,
    "/detokenize": `{"tokens":${value}}`,
    "/update_weights": `{"version":1,"digest":"x","source":${value}}`,
    "/abort_requests": `{"request_ids":${value}}`,
  });

  it.each(Object.keys(body("")))("is refused by name at %s", async (path) => {
    for (const depth of [200, 20_000, 200_000]) {
      const { status, body: answer } = await serving().post(path, body(nested(depth))[path]);
      expect({ status, answer }).toMatchObject({ status: 400, answer: { error: { code: "PRL_INFERENCE_REQUEST" } } });
      expect((answer["error"] as { message: string }).message).toContain("nested deeper");
    }
  });

  it("is taken as deep as tools' schemas are", async () => {
    const schema = (depth: number): object =>
      depth === 0 ? { type: "string" } : { type: "object", properties: { a: schema(depth - 1) } };
    const tools = [{ type: "function", function: { name: "f", parameters: schema(30) } }];
    const request = { model: "tiny", messages: [{ role: "user", content: "a" }], tools };
    expect((await serving().post("/tokenize", request)).status).toBe(200);
  });

  it("quotes no more than a part of the request", async () => {
    const { status, body: answer } = await serving().post(GENERATE, { ["x".repeat(100_000)]: 1 });
    expect(status).toBe(400);
    expect(JSON.stringify(answer).length).toBeLessThan(4_000);
  });
});

describe("a body that does not come", () => {
  it.each([
    ["a huge chunk", "transfer-encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n{"],
    ["a content-length", "content-length: 1000\r\n\r\n{"],
  ])("is answered with 408 and the connection's end: %s", async (_name, rest) => {
    await beside({ deadlines: { bodyMs: 100 } }, async (address) => {
      const socket = connect(Number(new URL(address).port), "127.0.0.1");
      socket.write(`POST ${GENERATE} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${rest}`);
      let answer = "";
      socket.on("data", (bytes: Buffer) => (answer += bytes.toString()));
      await once(socket, "close");
      expect(answer).toMatch(/^HTTP\/1\.1 408 /u);
      expect(answer).toContain("PRL_INFERENCE_REQUEST");
    });
  });

  it("is no matter of how long the answer takes", async () => {
    await beside({ deadlines: { bodyMs: 20 } }, async (address) => {
      await model.pause("keep");
      const answer = fetch(address + GENERATE, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(SAMPLE),
      });
      await serving().untilStats(({ waiting }) => waiting === 1);
      await new Promise((done) => setTimeout(done, 100));
      await model.resume();
      expect((await answer).status).toBe(200);
    });
  });
});

describe("/health", () => {
  const status = async (address: string): Promise<number> => (await fetch(`${address}/health`)).status;
  /** An engine that takes requests and never answers them. */
  const stuck = (): Model => ({
    ...model,
    // oxlint-disable-next-line require-yield -- it never gets that far
    async *generate(_requests, { signal } = {}) {
      await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });

  it("is 503 while requests wait and the engine computes nothing, and 200 when none waits any more", async () => {
    await beside(
      { deadlines: { stallMs: 50 } },
      async (address) => {
        const leave = new AbortController();
        const waiting = fetch(address + GENERATE, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(SAMPLE),
          signal: leave.signal,
        }).catch((error: Error) => error.name);
        await expect.poll(() => status(address), { timeout: 10_000 }).toBe(503);
        const answer = (await (await fetch(`${address}/health`)).json()) as { error: { message: string } };
        expect(answer.error.message).toMatch(/1 requests have waited .* the engine has computed nothing/u);
        leave.abort();
        expect(await waiting).toBe("AbortError");
        await expect.poll(() => status(address), { timeout: 10_000 }).toBe(200);
      },
      stuck(),
    );
  });
});

describe("control calls", () => {
  const CALLS = [
    "/pause?mode=keep",
    "/resume",
    "/reset_prefix_cache",
    "/update_weights",
    "/prefetch_weights",
    "/sleep",
    "/wake_up",
  ];
  const call = async (address: string, path: string, headers: Record<string, string> = {}) =>
    (await fetch(address + path, { method: "POST", headers })).status;

  it.each([...CALLS, "/abort_requests"])("from a web page are refused: %s", async (path) => {
    expect(await call(url, path, { origin: "http://evil.example" })).toBe(403);
    expect(await call(url, path, { origin: "null" })).toBe(403);
    expect(await (await fetch(`${url}/is_paused`)).json()).toEqual({ is_paused: false });
  });

  it("need the key where there is one; sampling and questions do not", async () => {
    await beside({ controlKey: "secret" }, async (address) => {
      for (const path of CALLS) {
        expect(await call(address, path)).toBe(401);
        expect(await call(address, path, { authorization: "Bearer secre" })).toBe(401);
      }
      const key = { authorization: "Bearer secret" };
      expect(await call(address, "/pause?mode=keep", { ...key, origin: "http://evil.example" })).toBe(403);
      expect(await call(address, "/reset_prefix_cache", key)).toBe(200);
      expect((await fetch(`${address}/health`)).status).toBe(200);
      const sampled = await fetch(address + GENERATE, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(SAMPLE),
      });
      expect(sampled.status).toBe(200);
    });
  });

  it("are not to be had from other machines without a key", async () => {
    await beside({}, async (_address, server) => {
      const failed = server.listen("0.0.0.0", 0);
      await expect(failed).rejects.toMatchObject({ code: "PRL_TRANSPORT_ADDRESS" });
      await expect(failed).rejects.toThrow(/0\.0\.0\.0.*PRL_TRANSPORT_TOKEN/u);
    });
  });

  it.each([
    ["/pause?mode=keep&wait=1", undefined, /wait/],
    ["/pause", { mode: "keep" }, /query/],
    ["/resume", { a: 1 }, /query/],
    ["/reset_prefix_cache?reset_running_requests=true", undefined, /reset_running_requests/],
    ["/update_weights", { version: 1, digest: "0".repeat(16), source: { dir: "/x" }, force: true }, /force/],
    ["/update_weights", { version: 1, digest: "0".repeat(16), source: { dir: "/x", file: 1 } }, /file/],
    ["/abort_requests", { request_ids: [], all: true }, /all/],
    ["/sleep?level=1&deep=1", undefined, /deep/],
    ["/sleep?mode=soon", undefined, /mode/],
    ["/wake_up?tags=everything", undefined, /tags/],
  ])("refuse unknown fields: %s %o", async (path, body, message) => {
    const { status, body: answer } = await serving().post(path, body ?? "");
    expect(status).toBe(400);
    expect((answer["error"] as { message: string }).message).toMatch(message);
  });
});

describe("an API key", () => {
  const ask = async (address: string, path: string, key?: string): Promise<number> => {
    const headers = {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    };
    const method = path === "/v1/models" ? "GET" : "POST";
    const body =
      path === GENERATE ? SAMPLE : { prompt: PROMPT, messages: [{ role: "user", content: "a" }], max_tokens: 1 };
    const { messages: _, ...text } = body as Record<string, unknown>;
    const { prompt: __, ...chat } = body as Record<string, unknown>;
    const sent = path === "/v1/completions" ? text : path === "/v1/chat/completions" ? chat : body;
    return (await fetch(address + path, { method, headers, ...(method === "POST" && { body: JSON.stringify(sent) }) }))
      .status;
  };

  it("is needed to sample and for nothing else; each of several will do", async () => {
    await beside({ apiKeys: ["one", "two"] }, async (address) => {
      for (const path of [GENERATE, "/v1/completions", "/v1/chat/completions", "/v1/models"]) {
        expect([path, await ask(address, path)]).toEqual([path, 401]);
        expect([path, await ask(address, path, "tw")]).toEqual([path, 401]);
        expect([path, await ask(address, path, "one")]).toEqual([path, 200]);
        expect([path, await ask(address, path, "two")]).toEqual([path, 200]);
      }
      const bare = await fetch(`${address}/v1/models`, { headers: { "x-api-key": "two" } });
      expect(bare.status).toBe(200);
      expect(await ask(address, "/v1/%63ompletions")).toBe(401);
      expect(await ask(address, "/abort_requests")).toBe(401);
      for (const path of ["/health", "/metrics", "/version"]) expect((await fetch(address + path)).status).toBe(200);
    });
  });
});

describe("more requests than there is room for", () => {
  it("are refused with a time to come again, and those that are there go on", async () => {
    await beside({ maxSamples: 3 }, async (address) => {
      const ask = (sampling_params: object) =>
        fetch(address + GENERATE, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ token_ids: PROMPT, sampling_params: { ignore_eos: true, ...sampling_params } }),
        });
      await model.pause("keep");
      const held = ask({ n: 2, max_tokens: 2 });
      await serving().untilStats(({ waiting }) => waiting === 2);
      const refused = await ask({ n: 2, max_tokens: 2 });
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
      expect(await refused.json()).toMatchObject({
        error: { code: "PRL_INFERENCE_RATE_LIMIT", message: expect.stringMatching(/2 of 3/u) },
      });
      const third = ask({ max_tokens: 2 });
      await serving().untilStats(({ waiting }) => waiting === 3);
      await model.resume();
      expect([(await held).status, (await third).status]).toEqual([200, 200]);
      expect((await ask({ n: 3, max_tokens: 2 })).status).toBe(200);
    });
  });
});

describe("a request that the engine fails to compute", () => {
  it("is answered with the server's failure, streamed or not", async () => {
    const damaged = await loadModel(await damagedCopy(serving().folder(0).dir, join(serving().root.dir, "damaged")), {
      threads: 1,
    });
    try {
      await beside(
        {},
        async (address) => {
          const ask = (more: object) =>
            fetch(`${address}/v1/completions`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ prompt: "x", max_tokens: 2, ...more }),
            });
          const error = {
            message: expect.stringMatching(/weights of version 0 are damaged/u) as string,
            type: "InternalServerError",
            param: null,
            code: "PRL_ENGINE_FAILED",
          };
          for (const stream of [false, true]) {
            const answer = await ask({ stream });
            expect([answer.status, await answer.json()]).toEqual([500, { error }]);
          }
          expect((await ask({ allowed_token_ids: [VOCAB_SIZE] })).status).toBe(400);
        },
        damaged,
      );
    } finally {
      await damaged.close();
    }
  });
});

describe("several names of a model", () => {
  it("are all served, and the first is in answers", async () => {
    await beside({ modelNames: ["a", "b"] }, async (address) => {
      const models = (await (await fetch(`${address}/v1/models`)).json()) as { data: { id: string }[] };
      expect(models.data.map(({ id }) => id)).toEqual(["a", "b"]);
      const ask = (named: object) =>
        fetch(`${address}/v1/completions`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ prompt: "x", max_tokens: 1, ...named }),
        });
      expect(await (await ask({})).json()).toMatchObject({ model: "a" });
      expect(await (await ask({ model: "b" })).json()).toMatchObject({ model: "b" });
      expect((await ask({ model: "c" })).status).toBe(404);
    });
  });
});

describe("prompts to score", () => {
  it("come two at a time, so that other calls of the engine find a thread", async () => {
    let running = 0;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const held: Model = {
      ...model,
      async logprobs(...prompt) {
        running += 1;
        await gate;
        return model.logprobs(...prompt);
      },
    };
    await beside(
      {},
      async (address) => {
        const scored = Array.from({ length: 10 }, () =>
          fetch(address + GENERATE, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ ...SAMPLE, sampling_params: { max_tokens: 0, prompt_logprobs: 0 } }),
          }),
        );
        await expect.poll(() => running, { timeout: 10_000 }).toBe(2);
        // Time for more to come, were there nothing that bounds them.
        await new Promise((done) => setTimeout(done, 100));
        expect(running).toBe(2);
        open();
        expect((await Promise.all(scored)).map(({ status }) => status)).toEqual(scored.map(() => 200));
      },
      held,
    );
  });
});
