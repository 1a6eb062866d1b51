/** What open requests hold: the bytes of their bodies, and conversations that later requests may continue. */
import { request } from "node:http";

import * as fc from "fast-check";
import { expect, test, vi } from "vitest";

import { BodyRoom, type Room } from "../../../../ts/environments/interception/body-room.ts";
import { InterceptionServer } from "../../../../ts/environments/index.ts";
import { END, policy, runAgent } from "../../../support/agent-rollout.ts";

const turnOfLoop = (): Promise<void> => new Promise((done) => setImmediate(done));

test("requests of one rollout wait for each other's bodies, those of another one do not", async () => {
  const server = await InterceptionServer.start({ maxBodyBytes: 2_000, maxOpenBytes: 6_000 });
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const { client, prompts } = policy(
    Array.from({ length: 3 }, () => `yes${END}`),
    () => gate,
  );
  const ask = ({ url, key }: { url: string; key: string }, word: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "x-api-key": key },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: `${word} `.repeat(300) }] }),
    });
  try {
    const first = runAgent({ server, client }, async (way) => {
      const both = await Promise.all([ask(way, "one"), ask(way, "two")]);
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
    });
    await vi.waitFor(() => expect(prompts).toHaveLength(1));
    const second = runAgent({ server, client }, async (way) => {
      expect((await ask(way, "six")).status).toBe(200);
    });
    await vi.waitFor(() => expect(prompts).toHaveLength(2));
    expect(prompts.filter((prompt) => prompt.includes("six"))).toHaveLength(1);
    open();
    for (const { episode } of await Promise.all([first, second])) expect(episode.errors).toEqual([]);
    expect(prompts).toHaveLength(3);
  } finally {
    await server.close();
  }
});

/** More than a connection holds before a body is read. */
const LENGTH = 150_000;

test("a body has its time from when it has room on, and one that stops ends its connection", async () => {
  const server = await InterceptionServer.start({ maxBodyBytes: 200_000, maxOpenBytes: 200_000, bodyMs: 150 });
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const replies = Array.from({ length: 2 }, () => `yes${END}`);
  const { client, prompts } = policy(replies, () => gate);
  try {
    const { episode } = await runAgent({ server, client }, async ({ url, key }) => {
      const headers = { "x-api-key": key, "content-length": String(LENGTH) };
      const ask = (sent: number) =>
        new Promise<number>((resolve, reject) => {
          const asked = request(`${url}/v1/chat/completions`, { method: "POST", headers, agent: false }, (answer) => {
            answer.resume();
            resolve(answer.statusCode ?? 0);
          });
          asked.once("error", reject);
          asked.write(JSON.stringify({ model: "m", messages: [{ role: "user", content: "word" }] }).padEnd(sent));
        });
      const first = ask(LENGTH);
      await vi.waitFor(() => expect(prompts).toHaveLength(1));
      const both = Promise.all([first, ask(LENGTH)]);
      both.catch(() => undefined);
      await new Promise((done) => setTimeout(done, 400));
      open();
      expect(await both).toEqual([200, 200]);
      await expect(ask(LENGTH - 1)).rejects.toThrow();
    });
    expect(episode.errors).toEqual([]);
  } finally {
    await server.close();
  }
});

test("the held bytes stay within both limits, everyone gets in at last, and those who go leave nothing", async () => {
  const asked = fc.record({
    owner: fc.nat(2),
    bytes: fc.integer({ min: 0, max: 10 }),
    kept: fc.nat(10),
    goes: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { maxLength: 12 }), async (requests) => {
      const room = new BodyRoom(20, 10);
      const owners = [{}, {}, {}];
      const held = new Map<number, number>();
      const inside: { index: number; room: Room }[] = [];
      const gone = new Set<number>();
      for (const [index, { owner, bytes, goes }] of requests.entries()) {
        const away = new AbortController();
        void room.enter(owners[owner] ?? {}, bytes, away.signal).then(
          (entered) => {
            held.set(index, bytes);
            inside.push({ index, room: entered });
          },
          () => gone.add(index),
        );
        await turnOfLoop();
        if (goes) away.abort();
      }
      for (let rounds = 0; held.size + gone.size < requests.length || inside.length > 0; rounds++) {
        expect(rounds).toBeLessThan(100);
        await turnOfLoop();
        const sums = [0, 1, 2].map((owner) =>
          [...held].reduce((sum, [index, bytes]) => sum + (requests[index]?.owner === owner ? bytes : 0), 0),
        );
        expect(Math.max(...sums)).toBeLessThanOrEqual(10);
        expect(sums.reduce((a, b) => a + b)).toBeLessThanOrEqual(20);
        const next = inside.shift();
        if (next === undefined) continue;
        next.room.shrink(requests[next.index]?.kept ?? 0);
        next.room.leave();
        next.room.leave();
        held.set(next.index, 0);
      }
      await expect(room.enter({}, 10, new AbortController().signal)).resolves.toBeDefined();
    }),
    { numRuns: 50 },
  );
});

test("only replies that a later request may continue keep their conversation", async () => {
  const server = await InterceptionServer.start();
  const { client } = policy(Array.from({ length: 3 }, () => `yes${END}`));
  try {
    await runAgent({ server, client }, async ({ url, key }) => {
      const post = async (path: string, body: object): Promise<{ status: number; id: string }> => {
        const answer = await fetch(`${url}/v1/${path}`, {
          method: "POST",
          headers: { "x-api-key": key },
          body: JSON.stringify({ model: "m", ...body }),
        });
        return { status: answer.status, id: String(((await answer.json()) as { id?: string }).id) };
      };
      const hex = (id: string): string => id.replace(/^.*[-_]/u, "");
      const chat = await post("chat/completions", { messages: [{ role: "user", content: "hi" }] });
      const said = await post("responses", { input: "hi" });
      const next = (id: string) => post("responses", { input: "more", previous_response_id: `resp_${hex(id)}` });
      expect((await next(said.id)).status).toBe(200);
      expect((await next(chat.id)).status).toBe(400);
    });
  } finally {
    await server.close();
  }
});
