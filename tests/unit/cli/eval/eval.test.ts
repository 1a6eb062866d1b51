import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { evaluate, type EvalSummary } from "../../../../ts/launcher/evaluations.ts";
import { loadConfig } from "../../../../ts/config/index.ts";
import type { Episode } from "../../../../ts/environments/index.ts";
import {
  chatCompletion,
  type MockAnswer,
  mockEndpoint,
  type MockEndpoint,
  type MockRequest,
  status,
} from "../../../support/mock-endpoint.ts";
import { filesWith } from "../../../support/hidden-key.ts";
import { prl } from "../run.ts";
import { modulePath } from "../../../support/compiled.ts";

/** Six tasks, `say 0` to `say 5`; full marks for saying the number. */
const ENVIRONMENT = `
import { defineEnvironment, singleTurn, endless, z } from "${modulePath("environments/index.ts")}";
const rows = (count) => Array.from({ length: count }, (_, i) => ({ prompt: [{ role: "user", content: "say " + i }], answer: String(i) }));
const make = (tasks) => defineEnvironment({
  name: "say", version: "1.0.0", config: z.strictObject({ count: z.int().default(6) }), tasks, rollout: singleTurn(),
  metrics: { length: ({ trace }) => trace.lastReply.length },
  rewards: { exact: ({ task, trace }) => trace.lastReply === task.answer },
});
export default make(({ config }) => rows(config.count));
function* numbers() { for (let i = 0; ; i++) yield rows(i + 1)[i]; }
export const slow = make(async function* () { await new Promise(() => {}); });
export const forever = make(() => endless(numbers()));
`;

let dir: string;
let mocks: MockEndpoint[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-eval-"));
  writeFileSync(join(dir, "say.mjs"), ENVIRONMENT);
});
afterEach(async () => {
  rmSync(dir, { recursive: true });
  for (const mock of mocks) await mock.close();
  mocks = [];
});

async function endpoint(answer: (request: MockRequest, index: number) => MockAnswer): Promise<MockEndpoint> {
  const mock = await mockEndpoint(answer);
  mocks.push(mock);
  return mock;
}

const asked = ({ body }: MockRequest): string => (body["messages"] as { content: string }[])[0]?.content ?? "";
const number = (request: MockRequest): number => Number(asked(request).replace("say ", ""));
/** Right for even numbers. */
const evens = (request: MockRequest): MockAnswer =>
  chatCompletion(number(request) % 2 === 0 ? String(number(request)) : "no idea");
const traces = (run: string): Episode[] =>
  readFileSync(join(dir, "outputs", run, "traces.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Episode);

describe("prl eval", () => {
  test("runs an environment by path and prints rewards, intervals and pass@k", async () => {
    const mock = await endpoint(evens);
    const args = ["eval", "./say.mjs", "-m", "m", "-b", `${mock.url}/v1`, "-n", "4", "-r2", "-c", "3"];
    const ran = await prl([...args, "--run.name", "a"], dir);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(
      /^evaluation +model +examples +rollouts +errors +reward +95 % interval +pass@1 +pass@2 +pass\^2/m,
    );
    expect(ran.stdout).toMatch(/^say +m +4 +8 +0 +0\.5000 .* to .* 0\.5000 +0\.5000 +0\.5000 +24$/m);
    expect(ran.stdout).toContain("metrics  length 4.0000");
    expect(ran.stderr).toContain("say 8/8 | Reward 0.5000 | Errors 0");
    expect(mock.requests).toHaveLength(8);
    expect(new Set(mock.requests.map(({ body }) => body["seed"])).size).toBe(8);
    expect(traces("a")).toHaveLength(8);
    expect(readdirSync(join(dir, "outputs", "a")).toSorted()).toEqual([
      "configs",
      "run",
      "summary.json",
      "traces.jsonl",
    ]);
    expect(readdirSync(join(dir, "outputs/a/run"))).toEqual([]);
  });

  test("takes a package by its folder, and reports the first error of each kind", async () => {
    writeFileSync(
      join(dir, "package.json"),
      '{"name": "@me/say", "version": "1.2.3", "prl": {"environment": "./say.mjs"}}',
    );
    const mock = await endpoint((request, index) =>
      index === 1 ? status(400, { error: { message: "the prompt\n is too long" } }) : evens(request),
    );
    const ran = await prl(["eval", ".", "-m", "m", "-b", mock.url, "-c", "1", "--run.name", "a"], dir);
    expect([ran.code, ran.stdout]).toEqual([
      0,
      expect.stringMatching(/^ {2}errors {3}PRL_INFERENCE_REQUEST 1: .*the prompt is too long/m),
    ]);
    const records = JSON.parse(readFileSync(join(dir, "outputs/a/configs/environments.json"), "utf8")) as object[];
    expect(records).toMatchObject([{ name: "say", origin: { kind: "package", name: "@me/say", version: "1.2.3" } }]);
  });

  test("--json prints the summary, with the interval over tasks", async () => {
    const mock = await endpoint(evens);
    const ran = await prl(["eval", "./say.mjs", "-m", "m", "-b", mock.url, "--json"], dir);
    expect(ran.code).toBe(0);
    const summary = JSON.parse(ran.stdout) as EvalSummary;
    expect(summary.status).toBe("completed");
    expect(summary.run).toMatch(/^say--m--[0-9a-f]{8}$/);
    expect(summary.evaluations).toMatchObject([
      {
        name: "say",
        env: "say",
        model: "m",
        examples: 6,
        scored: 6,
        errors: 0,
        reward: { mean: 0.5, method: "wilson", level: 0.95 },
        pass_at_k: { "1": 0.5 },
        metrics: { length: 4 },
        usage: { prompt_tokens: 42, completion_tokens: 18 },
        stop_conditions: { agent_completed: 6 },
      },
    ]);
  });

  test("runs [[eval]] tables of a file, each with the keys of the top level, and an endpoints file with keys", async () => {
    const mock = await endpoint(evens);
    writeFileSync(
      join(dir, "eval.toml"),
      `endpoints = "./endpoints.toml"
rollouts = 2
headers = { x-org-key = "key-of-all" }
[sampling]
temperature = 0.25
[[eval]]
model = "ours"
env = { path = "./say.mjs" }
num_examples = 2
[[eval]]
name = "other"
model = "direct"
base_url = "${mock.url}/direct"
rollouts = 1
env = { path = "./say.mjs", args = { count = 3 } }
sampling = { temperature = 0, extra = { seed = "None", top_logprobs = 1 } }
`,
    );
    writeFileSync(
      join(dir, "endpoints.toml"),
      `[[endpoint]]
id = "ours"
model = "org/big"
url = "${mock.url}/one"
api_key_var = "OUR_KEY"
headers = { x-gateway-key = "key-of-one" }
[[endpoint]]
id = "ours"
model = "org/big"
url = "${mock.url}/two"
`,
    );
    const without = await prl(["eval", "eval.toml"], dir);
    expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("OUR_KEY")]);
    const ran = await prl(["eval", "eval.toml", "--json"], dir, { OUR_KEY: "key-of-ours" });
    expect(ran.code).toBe(0);
    const { evaluations } = JSON.parse(ran.stdout) as EvalSummary;
    expect(evaluations).toMatchObject([
      { name: "say", scored: 4, reward: { mean: 0.5 } },
      { name: "other", scored: 3 },
    ]);
    const paths = mock.requests.map(({ path }) => path.split("/")[1]);
    expect(["one", "two", "direct"].map((name) => paths.filter((path) => path === name).length)).toEqual([2, 2, 3]);
    const [first] = mock.requests.filter(({ path }) => path.startsWith("/one"));
    expect(first).toMatchObject({
      headers: { authorization: "Bearer key-of-ours", "x-org-key": "key-of-all", "x-gateway-key": "key-of-one" },
      body: { model: "org/big", temperature: 0.25 },
    });
    const [direct] = mock.requests.filter(({ path }) => path.startsWith("/direct"));
    expect(direct?.body).toMatchObject({ temperature: 0, top_logprobs: 1 });
    expect(direct?.body).not.toHaveProperty("seed");
    expect(ran.stdout + ran.stderr).not.toMatch(/key-of-/u);
    for (const key of ["key-of-ours", "key-of-all", "key-of-one"])
      expect(await filesWith(join(dir, "outputs"), key)).toEqual([]);
    const { run } = JSON.parse(ran.stdout) as EvalSummary;
    const written = JSON.parse(readFileSync(join(dir, "outputs", run, "configs/eval.json"), "utf8")) as object;
    expect(written).toMatchObject({ headers: { "x-org-key": "***" } });
    const again = await prl(["eval", "eval.toml", "--run.name", run, "--resume"], dir, { OUR_KEY: "key-of-ours" });
    expect([again.code, mock.requests.length]).toEqual([0, 7]);
  });

  test("a rollout that fails is a row with its error, and --resume runs only what is missing", async () => {
    let broken = true;
    const mock = await endpoint((request) => {
      if (broken && number(request) === 3) return status(400, { error: { message: "no threes" } });
      if (broken && number(request) === 4) return status(200, "<html>");
      return chatCompletion(String(number(request)));
    });
    const args = ["eval", "./say.mjs", "-m", "m", "-b", mock.url, "--run.name", "a", "--max-retries", "0", "--json"];
    const first = await prl(args, dir);
    expect(first.code).toBe(0);
    expect((JSON.parse(first.stdout) as EvalSummary).evaluations).toMatchObject([
      {
        scored: 4,
        errors: 2,
        errors_by_code: { PRL_INFERENCE_REQUEST: 1, PRL_INFERENCE_ANSWER: 1 },
        reward: { mean: 1 },
      },
    ]);
    expect((JSON.parse(first.stdout) as EvalSummary).evaluations[0]?.error_messages["PRL_INFERENCE_REQUEST"]).toContain(
      "no threes",
    );
    expect(traces("a").filter(({ ok }) => !ok)).toHaveLength(2);

    expect((await prl(args, dir)).stderr).toContain("PRL_RUN_EXISTS");
    expect((await prl([...args, "--resume", "-T", "0"], dir)).stderr).toContain("PRL_EVAL_RESUME");

    // A line that was being written when the run broke.
    writeFileSync(join(dir, "outputs/a/traces.jsonl"), '{"id": "say-0-', { flag: "a" });
    broken = false;
    mock.requests.length = 0;
    const second = await prl([...args, "--resume"], dir);
    expect(second.stderr).toContain("4 rollouts kept");
    expect(mock.requests.map(asked).toSorted()).toEqual(["say 3", "say 4"]);
    expect((JSON.parse(second.stdout) as EvalSummary).evaluations).toMatchObject([{ scored: 6, errors: 0 }]);
    expect(
      traces("a")
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([0, 1, 2, 3, 4, 5].map((i) => `say-${i}-0`));

    mock.requests.length = 0;
    const more = await prl([...args, "--resume", "-r", "2"], dir);
    expect(mock.requests).toHaveLength(6);
    expect((JSON.parse(more.stdout) as EvalSummary).evaluations).toMatchObject([{ scored: 12 }]);
  });

  test("an evaluation that goes on holds its directory, and is not resumed", async () => {
    const meanwhile: Awaited<ReturnType<typeof prl>>[] = [];
    const args = (url: string) => ["eval", "./say.mjs", "-m", "m", "-b", url, "--run.name", "a", "-n", "1"];
    const mock = await mockEndpoint(async (request, index) => {
      if (index === 0)
        for (const other of [
          [...args(mock.url), "--resume"],
          ["runs", "show", "a"],
        ])
          meanwhile.push(await prl(other, dir));
      return chatCompletion(String(number(request)));
    });
    mocks.push(mock);
    expect((await prl(args(mock.url), dir)).code).toBe(0);
    const locked = { code: 2, stderr: expect.stringContaining("PRL_RUN_LOCKED") as string };
    const shown = { stdout: expect.stringMatching(/^status +running/m) as string };
    expect(meanwhile).toEqual([locked, shown].map((part) => expect.objectContaining(part) as unknown));
    expect(traces("a")).toHaveLength(1);
  });

  test("--resume names the key of an earlier config that is damaged", async () => {
    const mock = await endpoint((request) => chatCompletion(String(number(request))));
    const args = ["eval", "./say.mjs", "-m", "m", "-b", mock.url, "--run.name", "a", "-n", "1"];
    expect((await prl(args, dir)).code).toBe(0);
    const path = join(dir, "outputs/a/configs/eval.json");
    writeFileSync(path, JSON.stringify({ seed: 0, eval: [{ name: 1 }] }));
    const { code, stderr } = await prl([...args, "--resume"], dir);
    expect([code, stderr]).toEqual([2, expect.stringContaining("configs/eval.json: eval.0.name: expected string")]);
  });

  test("an evaluation without any scored rollout fails, by name", async () => {
    const mock = await endpoint(() => status(401, { error: { message: "who are you" } }));
    const ran = await prl(["eval", "./say.mjs", "-m", "m", "-b", mock.url, "--run.name", "a"], dir);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      '[PRL_EVAL_FAILED] evaluation "say": all of its 6 rollouts failed: PRL_INFERENCE_AUTH (6)',
    );
    expect(ran.stdout).toMatch(/^say +m +6 +6 +6 +–/m);
    expect(JSON.parse(readFileSync(join(dir, "outputs/a/summary.json"), "utf8"))).toMatchObject({ status: "failed" });
  });

  test("rollouts that were scored before an interrupt are kept", async () => {
    const abort = new AbortController();
    const mock = await endpoint((request, index) => {
      if (index < 2) return chatCompletion(String(number(request)));
      // The third call hangs, and somebody loses patience.
      return () => {
        abort.abort("SIGINT");
      };
    });
    const overrides = ["--model", "m", "--base-url", mock.url, "--run.name", "a", "--max-concurrent", "1"];
    const evaluation = ["--eval", '[{"env": {"path": "./say.mjs"}}]', "--output-dir", "outputs"];
    const loaded = await loadConfig([], [...overrides, ...evaluation], { kind: "eval", env: {}, cwd: dir });
    const summary = await evaluate(loaded, { signal: abort.signal, env: {} });
    expect(summary).toMatchObject({ status: "interrupted", error: { code: "PRL_RUN_INTERRUPTED" } });
    expect(traces("a").map(({ ok }) => ok)).toEqual([true, true]);
  });

  test("an interrupt does not wait for tasks that do not come", async () => {
    const args = ["--model", "m", "--base-url", "http://127.0.0.1:9", "--run.name", "a"];
    const evaluation = ["--eval", '[{"env": {"path": "./say.mjs#slow"}}]', "--output-dir", join(dir, "outputs")];
    const loaded = await loadConfig([], [...args, ...evaluation], { kind: "eval", env: {}, cwd: dir });
    const stop = new AbortController();
    // From then on it waits for tasks.
    const summary = await evaluate(loaded, { signal: stop.signal, env: {}, onDirectory: () => stop.abort() });
    expect(summary).toMatchObject({ status: "interrupted", evaluations: [] });
  });

  test("a hanging endpoint is given up at the rollout's deadline", async () => {
    const mock = await endpoint(() => () => undefined);
    const args = ["eval", "./say.mjs", "-m", "m", "-b", mock.url, "-n", "1", "--timeout-s", "0.2", "--json"];
    const { evaluations } = JSON.parse((await prl(args, dir)).stdout) as EvalSummary;
    expect(evaluations).toMatchObject([{ errors: 1, errors_by_code: { PRL_INFERENCE_TIMEOUT: 1 }, reward: null }]);
  });

  test.each<[string, string[], string]>([
    ["no environment", [], "name an environment"],
    ["an unknown one", ["revers-text", "-m", "m", "-b", "http://127.0.0.1:1"], 'did you mean "reverse-text"?'],
    ["no model", ["./say.mjs", "-b", "http://127.0.0.1:1"], "no model"],
    ["no endpoint", ["./say.mjs", "-m", "m"], "no endpoint"],
    ["an address that is none", ["./say.mjs", "-m", "m", "-b", "localhost"], "--base-url"],
    ["tasks without end", ["./say.mjs#forever", "-m", "m", "-b", "http://127.0.0.1:1"], "say how many with -n"],
    ["an unknown flag", ["./say.mjs", "--rolouts", "2"], "did you mean --rollouts?"],
    ["arguments that are no JSON", ["./say.mjs", "-a", "{"], "--env-args"],
    ["arguments that are no object", ["./say.mjs", "-a", "[1]"], "--env-args"],
    ["no tasks", ["./say.mjs", "-m", "m", "-b", "http://127.0.0.1:1", "-n", "0"], "0 tasks give no result"],
    ["a folder that is no package", [".", "-m", "m", "-b", "http://127.0.0.1:1"], "is a folder"],
    ["wrong arguments", ["./say.mjs", "-m", "m", "-b", "http://127.0.0.1:1", "-a", '{"cuont": 1}'], "cuont"],
    ["nothing to resume", ["./say.mjs", "-m", "m", "-b", "http://127.0.0.1:1", "--resume"], "PRL_EVAL_RESUME"],
    [
      "a file for a folder",
      ["./say.mjs", "-m", "m", "-b", "http://127.0.0.1:1", "--resume", "-o", "say.mjs"],
      "PRL_EVAL_RESUME",
    ],
  ])("%s is refused with exit code 2", async (_, args, text) => {
    const ran = await prl(["eval", ...args], dir);
    expect(ran.stderr).toContain(text);
    expect(ran.code).toBe(2);
  });
});
