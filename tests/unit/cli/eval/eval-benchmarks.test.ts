/** `prl eval --suite`, `--benchmark`, `--mode`, `--list-suites`, on questions of our own in the published shape. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import type { EvalSummary } from "../../../../ts/launcher/evaluations.ts";
import { chatCompletion, mockEndpoint, type MockEndpoint, type MockRequest } from "../../../support/mock-endpoint.ts";
import { mockHubOf } from "../../../support/hub/mock-hub.ts";
import { prl } from "../run.ts";

let dir: string;
let endpoint: MockEndpoint | null;
beforeEach(() => {
  endpoint = null;
  dir = mkdtempSync(join(tmpdir(), "prl-benchmarks-"));
  vi.stubEnv("PRL_CACHE_DIR", join(dir, "cache"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
  await endpoint?.close();
});

const file = (name: string, rows: readonly object[]): string => {
  writeFileSync(join(dir, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return join(dir, name);
};
const sums = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ question: `What is ${i} + 1?`, answer: `We add.\n#### ${i + 1}` }));
const promptOf = ({ body }: MockRequest): string =>
  typeof body["prompt"] === "string" ? body["prompt"] : ((body["messages"] as { content: string }[])[0]?.content ?? "");
const summaryOf = (stdout: string) => JSON.parse(stdout) as EvalSummary;

/** Benchmarks that lm-evaluation-harness does not have. */
const ONLY_PAPER = new Set(["ifbench", "live-code-bench", "bfcl", "simple-qa"]);

describe("prl eval with benchmarks", () => {
  test("asks as the paper does by default, with the published sampling, and shows the licence first", async () => {
    endpoint = await mockEndpoint((request) => {
      const number = Number(/What is (\d+)/u.exec(promptOf(request))?.[1]);
      return chatCompletion(number % 2 === 0 ? `#### ${number + 1}` : "#### 0");
    });
    const args = JSON.stringify({ data: file("sums.jsonl", sums(8)) });
    const ran = await prl(["eval", "--benchmark", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--json"], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    const [report] = summaryOf(ran.stdout).evaluations;
    expect(report).toMatchObject({ name: "gsm8k", examples: 8, reward: { mean: 0.5, method: "wilson" } });
    expect(report?.metrics).toMatchObject({ published: 0.5, strict_match: 0.5, flexible_extract: 0.5 });
    expect(ran.stderr).toMatch(/GSM8K.*not checked[\s\S]*licence {2}MIT[\s\S]*arxiv/u);
    expect(endpoint.requests[0]?.body).toMatchObject({ temperature: 0, max_completion_tokens: 2048 });
  });

  test("continues the harness's text in the mode lm-eval", async () => {
    endpoint = await mockEndpoint(() => ({
      choices: [{ text: " #### 1", finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }));
    const shots = file("shots.jsonl", sums(9));
    const args = JSON.stringify({ data: file("sums.jsonl", sums(2)), shots });
    const words = ["--benchmark", "gsm8k", "--mode", "lm-eval", "-a", args, "-t", "77", "-m", "m", "-b", endpoint.url];
    const price = ["--price.input", "1000000", "--price.output", "3000000"];
    const ran = await prl(["eval", ...words, ...price, "--json"], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    expect(summaryOf(ran.stdout).evaluations[0]).toMatchObject({ reward: { mean: 0.5 }, cost: 8 });
    const [{ body } = { body: {} as Record<string, unknown> }] = endpoint.requests;
    expect(body).toMatchObject({ max_tokens: 77, stop: ["Question:", "</s>", "<|im_end|>"] });
    expect(String(body["prompt"]).match(/Question: /gu)).toHaveLength(6);
  });

  test("leaves out the benchmarks of a suite that do not have the mode, and says so", async () => {
    endpoint = await mockEndpoint(() => ({
      choices: [{ text: "a", finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }));
    const rows = [{ prompt: "Write.", instruction_id_list: ["punctuation:no_comma"], kwargs: [{}] }];
    const args = JSON.stringify({ data: file("ifeval.jsonl", rows) });
    const words = ["eval", "--suite", "instructions", "--mode", "lm-eval", "-a", args, "-m", "m", "-b", endpoint.url];
    const ran = await prl([...words, "--json"], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    expect(ran.stderr).toContain("ifbench is left out: it has no mode lm-eval");
    expect(summaryOf(ran.stdout).evaluations.map(({ name }) => name)).toEqual(["ifeval"]);
  });

  test("votes: cons@k is the share of tasks whose most frequent answer is right", async () => {
    const replies = ["7", "7", "8", "9"];
    endpoint = await mockEndpoint((_, index) => chatCompletion(`\\boxed{${replies[index % 4]}}`));
    const args = JSON.stringify({ data: file("aime.jsonl", [{ problem: "What is 3 + 4?", answer: "7" }]) });
    const words = [
      "--benchmark",
      "aime-2025",
      "-a",
      args,
      "-r",
      "4",
      "-c",
      "1",
      "-m",
      "m",
      "-b",
      endpoint.url,
      "--json",
    ];
    const ran = await prl(["eval", ...words], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    const [report] = summaryOf(ran.stdout).evaluations;
    expect(report).toMatchObject({ reward: { mean: 0.5 }, cons_at_k: { "4": 1 } });
    expect(report?.pass_at_k["4"]).toBe(1);
    const traces = readFileSync(join(summaryOf(ran.stdout).run_dir, "traces.jsonl"), "utf8");
    expect(traces).toContain('"answer":"7"');
  });

  test("--resume runs tasks again whose data is another now, and keeps no row of the old ones", async () => {
    endpoint = await mockEndpoint((request) =>
      chatCompletion(`#### ${Number(/What is (\d+)/u.exec(promptOf(request))?.[1]) + 1}`),
    );
    const args = JSON.stringify({ data: file("sums.jsonl", sums(3)) });
    const words = ["eval", "--benchmark", "gsm8k", "-a", args, "-m", "m", "-b", endpoint.url, "--run.name", "r"];
    expect((await prl(words, dir)).code).toBe(0);
    file("sums.jsonl", [{ question: "What is 7 + 1?", answer: "#### 8" }, ...sums(3).slice(1)]);
    endpoint.requests.length = 0;
    const ran = await prl([...words, "--resume", "--json"], dir);
    expect(summaryOf(ran.stdout).evaluations).toMatchObject([{ scored: 3, reward: { mean: 1 } }]);
    expect(endpoint.requests).toHaveLength(1);
    const rows = readFileSync(join(dir, "outputs/r/traces.jsonl"), "utf8").trim().split("\n");
    expect(rows.map((row) => (JSON.parse(row) as { id: string }).id).toSorted()).toEqual(
      [0, 1, 2].map((index) => `gsm8k-${index}-0`),
    );
  });

  test("gives the functions of BFCL as tools, and scores the calls", async () => {
    const call = { id: "1", type: "function", function: { name: "shape_area", arguments: '{"width": 2}' } };
    endpoint = await mockEndpoint(() => ({
      choices: [{ message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }));
    const parameters = { type: "dict", properties: { width: { type: "integer" } }, required: ["width"] };
    const rows = ["simple_0", "simple_1", "irrelevance_0"].map((id, index) => ({
      id,
      question: [[{ role: "user", content: `Area ${index}?` }]],
      function: [{ name: "shape.area", description: "Area.", parameters }],
      ...(id === "irrelevance_0" ? {} : { ground_truth: [{ "shape.area": { width: [2 + index] } }] }),
    }));
    const args = JSON.stringify({ data: file("bfcl.jsonl", rows) });
    const ran = await prl(["eval", "--suite", "tools", "-a", args, "-m", "m", "-b", endpoint.url, "--json"], dir);
    expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
    expect(summaryOf(ran.stdout).evaluations[0]).toMatchObject({
      name: "bfcl",
      examples: 3,
      reward: { mean: expect.closeTo(1 / 3) as number },
    });
    expect(summaryOf(ran.stdout).evaluations[0]?.by_group).toEqual({
      irrelevance: { examples: 1, reward: 0 },
      simple: { examples: 2, reward: 0.5 },
    });
    expect(endpoint.requests[0]?.body["tools"]).toMatchObject([
      { type: "function", function: { name: "shape_area", parameters: { type: "object" } } },
    ]);
  });

  test("asks a judge once for each reply of SimpleQA, and gives the published numbers", async () => {
    endpoint = await mockEndpoint((request) =>
      chatCompletion(promptOf(request).startsWith("Who") ? "Ida" : "Who knows"),
    );
    const judge = await mockEndpoint((request) => {
      const isRight = promptOf(request).includes("Ida\n[end answer");
      return chatCompletion(isRight ? (promptOf(request).includes("Who 1?") ? "B" : "A") : "C");
    });
    try {
      const rows = ["Who 0?", "Who 1?", "Who 2?", "When?"].map((problem) => ({ problem, answer: "Ida" }));
      const args = JSON.stringify({ data: file("facts.jsonl", rows), judge: { url: judge.url, model: "judge" } });
      const words = ["eval", "--suite", "facts", "-a", args, "-m", "m", "-b", endpoint.url];
      const ran = await prl([...words, "--json"], dir);
      expect([ran.code, ran.code === 0 ? "" : ran.stderr]).toEqual([0, ""]);
      const [report] = summaryOf(ran.stdout).evaluations;
      expect(report).toMatchObject({
        reward: { mean: 0.5 },
        metrics: { is_correct: 0.5, is_incorrect: 0.25, is_not_attempted: 0.25 },
        derived: { is_given_attempted: 0.75, accuracy_given_attempted: expect.closeTo(2 / 3) as number },
      });
      expect(report?.derived["f1"]).toBeCloseTo((2 * (2 / 3) * 0.5) / (2 / 3 + 0.5), 12);
      expect(judge.requests).toHaveLength(rows.length);
      const table = (await prl(words, dir)).stdout;
      expect(table).toMatch(/derived {2}is_given_attempted 0\.75/u);
    } finally {
      await judge.close();
    }
  });

  test("lists suites and benchmarks with their licences", async () => {
    const text = (await prl(["eval", "--list-suites"], dir)).stdout;
    expect(text).toMatch(/reasoning .*math-500[\s\S]*openai\/gsm8k, 1319 rows, licence: MIT/u);
    const listed = JSON.parse((await prl(["eval", "--list-suites", "--json"], dir)).stdout) as {
      suites: { benchmarks: string[] }[];
      benchmarks: { name: string; revision: string; licence: string; modes: Record<string, { source: string }> }[];
    };
    const names = new Set(listed.benchmarks.map(({ name }) => name));
    for (const { benchmarks } of listed.suites) for (const name of benchmarks) expect(names).toContain(name);
    for (const one of listed.benchmarks) {
      expect(one.revision).toMatch(/^[0-9a-f]{40}$/u);
      const isPublished = ONLY_PAPER.has(one.name);
      expect([one.licence.length > 0, Object.keys(one.modes).toSorted()]).toEqual([
        true,
        isPublished ? ["paper"] : ["lm-eval", "paper"],
      ]);
    }
  });

  const ADDRESS = ["-m", "m", "-b", "http://127.0.0.1:1"];
  test.each([
    ["an unknown suite", ["--suite", "reasonin", ...ADDRESS], 'no suite is named "reasonin"; did you mean "reasoning"'],
    ["an unknown benchmark", ["--benchmark", "gsm9k", ...ADDRESS], 'did you mean "gsm8k"'],
    ["an unknown environment of that owner", ["benchmark/none", ...ADDRESS], 'no benchmark is named "none"'],
    ["a mode without benchmarks", ["reverse-text", "--mode", "paper", ...ADDRESS], "--mode is for"],
    ["an unknown mode", ["--benchmark", "gsm8k", "--mode", "fast", ...ADDRESS], "use paper or lm-eval"],
    ["a mode that the harness lacks", ["--benchmark", "ifbench", "--mode", "lm-eval", ...ADDRESS], "use --mode paper"],
    [
      "a judge that is missing",
      ["--benchmark", "simple-qa", "-a", '{"data": "none.jsonl"}', ...ADDRESS],
      "judge model",
    ],
    ["training", ["--benchmark", "gsm8k", "--split", "train", ...ADDRESS], "has no tasks to train on"],
    ["missing examples", ["--benchmark", "math-500", "--mode", "lm-eval", ...ADDRESS], "list_fewshot_samples"],
    ["a missing copy", ["--benchmark", "gsm8k", "-a", '{"data": "none.jsonl"}', ...ADDRESS], "there is no file"],
  ])("refuses by name: %s", async (_, words, message) => {
    const ran = await prl(["eval", ...words], dir);
    expect(ran.stderr).toContain(message);
    expect(ran.code).not.toBe(0);
  });

  test.each([
    ["gsm8k", "openai/gsm8k", "740312ad", {}],
    ["ifbench", "allenai/IFBench_test", "2e8a48de", {}],
    ["bfcl", "gorilla-llm/Berkeley-Function-Calling-Leaderboard", "61fc0608", {}],
    ["live-code-bench", "livecodebench/code_generation_lite", "0fe84c39", {}],
    ["simple-qa", "basicv8vc/SimpleQA", "e319282a", { judge: { url: "http://127.0.0.1:1", model: "judge" } }],
  ])("stops when the pinned revision is gone from the hub: %s", async (name, dataset, revision, settings) => {
    const hub = await mockHubOf({ [dataset]: { "main/test-00000-of-00001.jsonl": Buffer.from("{}") } });
    try {
      vi.stubEnv("HF_ENDPOINT", hub.url);
      const ran = await prl(["eval", "--benchmark", name, "-a", JSON.stringify(settings), ...ADDRESS], dir);
      expect(ran.stderr).toContain("PRL_HUB_UNKNOWN");
      expect(ran.stderr).toContain(`moved or deleted since ${revision}`);
      expect(ran.stderr).toContain(`licence  ${findBenchmark(name).data.licence}`);
    } finally {
      await hub.close();
    }
  });
});
