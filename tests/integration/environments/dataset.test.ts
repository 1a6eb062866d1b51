/** Tasks that are a dataset of a hub, through `prl` as a user starts it: fetched once, then without a network. */
import { expect, test } from "vitest";

import { chatCompletion, mockEndpoint } from "../../support/mock-endpoint.ts";
import { mockHub } from "../../support/hub/mock-hub.ts";
import { prl, workspace } from "../../support/prl.ts";

const problems = (count: number, from: number): Buffer =>
  Buffer.from(
    Array.from({ length: count }, (_, i) => {
      const n = from + i;
      return `${JSON.stringify({ question: `What is ${n} + 1?`, answer: `Add.\n#### ${n + 1}` })}\n`;
    }).join(""),
  );

test("gsm8k of a hub is evaluated, by its test split, and again from the cache", async () => {
  const place = await workspace("empty");
  const hub = await mockHub({
    "main/train-00000-of-00001.jsonl": problems(30, 100),
    "main/test-00000-of-00001.jsonl": problems(8, 0),
  });
  const endpoint = await mockEndpoint(({ body }) => {
    const [{ content } = { content: "" }] = body["messages"] as { content: string }[];
    const number = Number(/What is (\d+)/u.exec(content)?.[1]);
    return chatCompletion(number % 2 === 0 ? `#### ${number + 1}` : "#### 0");
  });
  try {
    const args = JSON.stringify({ data: "owner/name" });
    const evaluate = (env: Record<string, string>) =>
      prl(["eval", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--json"], {
        cwd: place.dir,
        cache: place.cache,
        env: { HF_ENDPOINT: hub.url, ...env },
      });
    const first = await evaluate({});
    expect([first.code, first.code === 0 ? "" : first.stderr]).toEqual([0, ""]);
    expect(JSON.parse(first.stdout)).toMatchObject({ evaluations: [{ examples: 8, reward: { mean: 0.5 } }] });
    expect(hub.requests.some((request) => request.includes("/main/train-"))).toBe(false);

    const asked = hub.requests.length;
    const second = await evaluate({ HF_HUB_OFFLINE: "1" });
    expect(JSON.parse(second.stdout)).toMatchObject({ evaluations: [{ examples: 8, reward: { mean: 0.5 } }] });
    expect(hub.requests).toHaveLength(asked);

    const info = await prl(["env", "info", "gsm8k", "--args", args, "--json"], {
      cwd: place.dir,
      cache: place.cache,
      env: { HF_ENDPOINT: hub.url },
    });
    expect(JSON.parse(info.stdout)).toMatchObject({
      tasks: { train: { count: 30, complete: true }, eval: { count: 8 } },
    });
  } finally {
    await endpoint.close();
    await hub.close();
    await place.remove();
  }
});
