/** `prl eval page`, on an evaluation by a model whose replies hold HTML. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { chatCompletion, mockEndpoint } from "../../../support/mock-endpoint.ts";
import { prl } from "../run.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-eval-page-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("the page has the table, the details, and the rollouts with the most and the least reward, as text", async () => {
  const endpoint = await mockEndpoint(({ body }) => {
    const number = Number(/What is (\d+)/u.exec(JSON.stringify(body["messages"]))?.[1]);
    return chatCompletion(`<script>alert(${number})</script> #### ${number < 4 ? number + 1 : 0}`);
  });
  try {
    const rows = Array.from({ length: 12 }, (_, i) => ({ question: `What is ${i} + 1?`, answer: `#### ${i + 1}` }));
    writeFileSync(join(dir, "sums.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const args = JSON.stringify({ data: join(dir, "sums.jsonl") });
    const words = ["--benchmark", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--run.name", "a"];
    expect((await prl(["eval", ...words], dir)).code).toBe(0);
  } finally {
    await endpoint.close();
  }
  const ran = await prl(["eval", "page", "outputs/a", "--json"], dir);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const { page } = JSON.parse(ran.stdout) as { page: string };
  expect(page).toMatch(/outputs\/a\/results\.html$/u);
  const text = readFileSync(page, "utf8");
  expect(text).toMatch(/^<!doctype html>[\s\S]*gsm8k[\s\S]*<\/html>\s*$/u);
  expect(text).not.toContain("<script");
  expect(text).toContain("&lt;script&gt;");
  const rewards = [...text.matchAll(/<summary>task [^:]*: reward ([\d.]+)<\/summary>/gu)].map(([, reward]) =>
    Number(reward),
  );
  expect(rewards).toEqual([1, 1, 1, 0, 0, 0]);
  expect(text).toMatch(/metrics|ended/u);
  expect((await prl(["eval", "page", "outputs/a", "--html", "b.html"], dir)).stdout).toBe(`${join(dir, "b.html")}\n`);
  expect(readFileSync(join(dir, "b.html"), "utf8")).toBe(text);
});

test.each([
  ["no run", [], "PRL_CLI_USAGE"],
  ["two runs", ["a", "b"], "PRL_CLI_USAGE"],
  ["a folder without results", ["."], "PRL_RUN_UNKNOWN"],
])("refuses by name: %s", async (_, words, message) => {
  expect((await prl(["eval", "page", ...words], dir)).stderr).toContain(message);
});
