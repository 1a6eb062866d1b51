/** An agent's streams all the way: the openai package, the interception server, an env worker's runner, the embedded engine. */
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";

import { defineEnvironment, InterceptionServer, z } from "../../../../ts/environments/index.ts";
import type { RunRequest } from "../../../../ts/environments/internal.ts";
import { EpisodeRunner } from "../../../../ts/environments/worker/episode-runner.ts";
import { loadRenderer, loadTokenizer } from "../../../../ts/renderers/index.ts";
import { useServing } from "../serving.ts";

const serving = useServing();
let server: InterceptionServer;
beforeAll(async () => {
  server = await InterceptionServer.start();
});
afterAll(() => server.close());

const HI = { role: "user" as const, content: "hi" };

it("streams the sampled reply in pieces that make up the reply of the trace, also with a stop string", async () => {
  const { dir } = serving().folder(0);
  const [tokenizer, renderer] = await Promise.all([loadTokenizer(dir), loadRenderer(dir)]);
  const runner = new EpisodeRunner({ tokenizer, renderer }, 1);
  const said: { whole: string; deltas: string[] }[] = [];
  const environment = defineEnvironment({
    name: "streamed",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): { prompt: string }[] => [],
    async rollout(context) {
      const { session, close } = server.open(context);
      const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: session.key, maxRetries: 0 });
      const say = async (more: object) => {
        const deltas: string[] = [];
        const stream = openai.chat.completions.stream({ model: "m", messages: [HI], max_tokens: 120, ...more });
        stream.on("content", (delta) => deltas.push(delta));
        const whole = (await stream.finalChatCompletion()).choices[0]?.message.content ?? "";
        said.push({ whole, deltas });
        return whole;
      };
      try {
        const whole = await say({});
        // A letter of its middle, as a random model writes it.
        const stop = /[a-zA-Z0-9]/u.exec(whole.slice(Math.floor(whole.length / 2)))?.[0] ?? "a";
        await say({ stop: [stop], messages: [HI, { role: "user", content: stop }] });
      } finally {
        close();
      }
    },
    rewards: { turns: ({ trace }) => trace.turns },
  }).configure();
  const order: RunRequest = {
    env: "streamed",
    task: { key: "0", hash: "", data: { prompt: "" } },
    inference: { url: serving().url, model: "tiny" },
    sampling: { temperature: 1, max_completion_tokens: 120 },
    seed: 5,
    cache_salt: "0",
    priority: 0,
    deadline_ms: 60_000,
    episode_id: "e",
    group_id: "g",
    run: { type: "train", step: 1 },
  };
  const { episode, columns } = await runner.run(environment, order, new AbortController().signal);
  await runner.stop();
  expect(episode.errors).toEqual([]);
  const sampled = episode.traces[0]?.nodes.filter((node) => node.sampled).map(({ message }) => message.content);
  expect(said.map(({ whole }) => whole)).toEqual(sampled);
  for (const { whole, deltas } of said) expect(deltas.join("")).toBe(whole);
  expect(said[0]?.whole).not.toBe("");
  const masked = columns[0]?.mask.reduce((sum, one) => sum + one, 0);
  expect(masked).toBe(episode.traces[0]?.usage.completion_tokens);
});
