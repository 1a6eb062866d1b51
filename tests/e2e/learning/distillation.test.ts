import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createRng } from "../../../ts/environments/index.ts";
import { openSafetensors } from "../../../ts/native/weights/index.ts";
import { prl, readJson, readJsonLines, start, workspace } from "../../support/prl.ts";
import { IS_LONG, longTest } from "../../support/form.ts";

const CONFIGS = join(import.meta.dirname, "../configs");

type Line = { component: string; step: number } & Record<string, number>;

let place: Awaited<ReturnType<typeof workspace>>;
const stops: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  place = await workspace();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await place.remove();
});
const options = () => ({ cwd: place.dir, cache: place.cache });
const outputs = (name: string) => join(place.dir, "outputs", name);

async function trained(run: string): Promise<Line[]> {
  const lines = await readJsonLines<Line>(join(outputs(run), "metrics.jsonl"));
  return lines.filter(({ component }) => component === "trainer");
}

/** Serves a model folder; its address. */
async function serve(folder: string, deadlineMs = 120_000): Promise<string> {
  const { child, finished } = start(["inference", folder, "--port", "0", "--threads", "1", "--max-model-len", "2048"], {
    ...options(),
    deadlineMs,
  });
  stops.push(async () => {
    child.kill("SIGTERM");
    await finished;
  });
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (text) => resolve(String(text).trim()));
    void finished.then(({ stderr }) => reject(new Error(stderr)), reject);
  });
}

test("a policy learns from a served teacher: from its scores (opd) and from its traces (sft), in one run", async () => {
  const taught = await prl(["sft", join(CONFIGS, "teacher.toml"), "--run.name", "teacher"], options());
  expect(taught.code, taught.stderr).toBe(0);
  const address = await serve(join(outputs("teacher"), "model"));
  const config = join(place.dir, "distillation.toml");
  const text = await readFile(join(CONFIGS, "distillation.toml"), "utf8");
  const model = join(CONFIGS, "../../../configs/reverse-text/model");
  await writeFile(config, text.replaceAll("TEACHER", address).replace("../../../configs/reverse-text/model", model));

  const run = await prl(["rl", config, "--run.name", "pupil"], options());
  expect(run.code, run.stderr).toBe(0);
  const lines = await trained("pupil");
  expect(lines.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
  const [first, last] = [lines[0], lines.at(-1)];
  // KL(policy || teacher) at what the policy says, and the teacher's own words under the policy.
  expect(last?.["ref_kl/kl/mean"]).toBeLessThan((first?.["ref_kl/kl/mean"] ?? 0) - 0.5);
  expect(last?.["nll"]).toBeLessThan((first?.["nll"] ?? 0) - 0.5);
  for (const line of lines) expect(line["mismatch_on_policy/max_abs_logprob_diff"]).toBe(0);

  const { metadata } = await openSafetensors(join(outputs("pupil"), "rollouts/step_1/rank_0.safetensors"));
  const { n_rl, n_ce, n_ref_kl } = metadata;
  expect(n_rl).toBe("0");
  expect(Number(n_ce)).toBeGreaterThan(0);
  expect(Number(n_ref_kl)).toBeGreaterThan(0);
});

test("a teacher that does not answer ends the run at once, by name", async () => {
  const algo = '{ type = "opd", teacher = { base_url = "http://127.0.0.1:9", timeout_s = 5 } }';
  const config = join(place.dir, "alone.toml");
  const text = await readFile(join(CONFIGS, "sync.toml"), "utf8");
  const model = join(CONFIGS, "../../../configs/reverse-text/model");
  await writeFile(
    config,
    text
      .replace("../../../configs/reverse-text/model", model)
      .replace(/\[warm_start\]\nsft = .*\n/, "")
      .replace(/\[orchestrator\.algo\]\n.*\n.*\n/, `[orchestrator]\nalgo = ${algo}\n`)
      .replace("[orchestrator]\nbatch_size = 32\ngroup_size = 8\n", "")
      .replace(`[orchestrator]\nalgo`, `[orchestrator]\nbatch_size = 32\ngroup_size = 8\nalgo`),
  );
  const run = await prl(["rl", config, "--run.name", "alone"], options());
  expect(run.code).toBe(1);
  const { error } = await readJson<{ error: { code: string; message: string } }>(
    join(outputs("alone"), "summary.json"),
  );
  expect(`${error.code} ${error.message}`).toContain('the teacher of source "reverse-text"');
});

test("echo, self-distillation with hints and custom advantages train together, with a KL term towards the start", async () => {
  const run = await prl(["rl", join(CONFIGS, "streams.toml"), "--run.name", "streams"], options());
  expect(run.code, run.stderr).toBe(0);
  const lines = await trained("streams");
  expect(lines.map(({ step }) => step)).toEqual([1, 2]);
  expect(lines[0]?.["reference_kl"]).toBe(0);
  expect(lines[1]?.["reference_kl"]).toBeGreaterThan(0);
  for (const line of lines) {
    expect(line["nll"]).toBeGreaterThan(0);
    expect(line["mismatch_on_policy/max_abs_logprob_diff"]).toBe(0);
    expect(Number.isFinite(line["ref_kl/kl/mean"])).toBe(true);
  }
});

/** Half of them copy a code that stands in front; the others give the right one a little more often than any other. */
function codeRows(): { prompt: string; completion: string }[] {
  const rng = createRng(1);
  return Array.from({ length: 5000 }, () => {
    const letter = rng.integer(8);
    const any = rng.integer(10);
    const prompt = `code of ${"abcdefgh"[letter]}: `;
    if (rng.integer(2) === 0) return { prompt: `${any}. ${prompt}`, completion: String(any) };
    return { prompt, completion: String(rng.integer(10) < 5 ? (letter * 3 + 1) % 10 : any) };
  });
}

/** Writes `start.toml`, the supervised run that teaches `codeRows`, and `hinted.toml`, which begins with it, to the test's folder. */
async function writeHinted(): Promise<void> {
  const model = join(CONFIGS, "../../../configs/reverse-text/model");
  const write = (name: string, text: string) => writeFile(join(place.dir, name), text);
  const lines = codeRows().map((row) => `${JSON.stringify(row)}\n`);
  await write("rows.jsonl", lines.join(""));
  await write(
    "start.toml",
    `seed = 5\nmax_steps = 220\nseq_len = 512\nmodel.name = "${model}"\ndata = { batch_size = 32, source = "./rows.jsonl" }\noptim = { lr = 1e-3, weight_decay = 0.0 }\n`,
  );
  const text = await readFile(join(CONFIGS, "hinted.toml"), "utf8");
  const paths = text.replace("../../../configs/reverse-text/model", model).replace("ROWS", "./start.toml");
  await write("hinted.toml", paths.replace("./codes.ts", join(CONFIGS, "codes.ts")));
}

async function rewardsOf(run: string): Promise<number[]> {
  const all = await readJsonLines<Line>(join(outputs(run), "metrics.jsonl"));
  return all.flatMap((line) => line["train/agg/all/agent/reward/mean"] ?? []);
}

longTest("self-distillation: a policy learns to give without a hint the answers that it gives with one", async () => {
  await writeHinted();
  const run = await prl(["rl", join(place.dir, "hinted.toml"), "--run.name", "hinted"], options());
  expect(run.code, run.stderr).toBe(0);
  const rewards = await rewardsOf("hinted");
  expect(rewards).toHaveLength(7);
  // From 0.6 to 0.8, with two seeds; no reward has a part in it. Much further on, policy and teacher, which are one, may forget the hint.
  expect((rewards.at(-1) ?? 0) - (rewards[0] ?? 1)).toBeGreaterThan(0.1);
});

longTest("self-distillation from a frozen teacher keeps the learnt answers until the run ends", async () => {
  await writeHinted();
  const taught = await prl(["sft", join(place.dir, "start.toml"), "--run.name", "start"], options());
  expect(taught.code, taught.stderr).toBe(0);
  const model = join(outputs("start"), "model");
  const teacher = ["--orchestrator.train.source.0.algo.teacher.base_url", await serve(model)];
  const more = ["--model", model, "--warm-start", "None", "--max-steps", "18", ...teacher];
  const run = await prl(["rl", join(place.dir, "hinted.toml"), "--run.name", "still", ...more], options());
  expect(run.code, run.stderr).toBe(0);
  // 0.98, with two seeds; where the policy itself has the hint it is below 0.5 by then with the first.
  const last = (await rewardsOf("still")).slice(-4);
  expect(last).toHaveLength(4);
  for (const reward of last) expect(reward).toBeGreaterThan(0.85);
});

test("a loss by path that is the engine's own gives the same weights, and another changes them", async () => {
  const base = ["rl", join(CONFIGS, "sync.toml"), "--max-steps", "2"];
  const path = `${join(CONFIGS, "own-functions.ts")}#loss`;
  const custom = ["--trainer.loss.type", "custom", "--trainer.loss.path", path];
  const runs: Record<string, string[]> = {
    named: ["--trainer.loss.type", "grpo"],
    same: [...custom, "--trainer.loss.args.type", "grpo"],
    other: [...custom, "--trainer.loss.args.type", "ppo"],
  };
  const digests: Record<string, string> = {};
  for (const [name, loss] of Object.entries(runs)) {
    const run = await prl([...base, "--run.name", name, ...loss], options());
    expect(run.code, run.stderr).toBe(0);
    ({ digest: digests[name] } = await readJson<{ digest: string }>(
      join(outputs(name), "weights/step_2/manifest.json"),
    ));
  }
  expect(digests["same"]).toBe(digests["named"]);
  expect(digests["other"]).not.toBe(digests["named"]);
});

longTest(
  "a run with a KL term goes on from a checkpoint towards the same reference, the warm start that it began with",
  async () => {
    const kl = ["--trainer.loss.type", "grpo", "--trainer.loss.kl.estimator", "k2", "--trainer.loss.kl.coef", "1"];
    const shared = ["--max-steps", "3", "--ckpt.interval", "1", "--orchestrator.eval", "None", ...kl];
    const args = ["rl", join(CONFIGS, "sync.toml"), "--run.name", "pulled", ...shared];
    const end = async () => {
      const { digest } = await readJson<{ digest: string }>(join(outputs("pulled"), "weights/step_3/manifest.json"));
      const last = (await trained("pulled")).findLast(({ step }) => step === 3);
      return { digest, kl: last?.["reference_kl"] };
    };
    const whole = await prl(args, options());
    expect(whole.code, whole.stderr).toBe(0);
    const expected = await end();
    expect(expected.kl).toBeGreaterThan(0);
    const resumed = await prl([...args, "--resume", "1"], options());
    expect(resumed.code, resumed.stderr).toBe(0);
    expect(await end()).toEqual(expected);
  },
);

test.runIf(IS_LONG)(
  "the distillation example raises the held-out reward without reading one",
  { timeout: 1_200_000 },
  async () => {
    const example = join(CONFIGS, "../../../configs/distillation");
    const long = { ...options(), deadlineMs: 600_000 };
    const taught = await prl(["sft", join(example, "teacher.toml"), "--run.name", "teacher"], long);
    expect(taught.code, taught.stderr).toBe(0);
    const address = await serve(join(outputs("teacher"), "model"), long.deadlineMs);
    const teacher = ["--orchestrator.algo.teacher.base_url", address];
    const run = await prl(["rl", join(example, "rl.toml"), "--run.name", "pupil", ...teacher], long);
    expect(run.code, run.stderr).toBe(0);
    const { reward } = await readJson<{ reward: { first: number; last: number } }>(
      join(outputs("pupil"), "summary.json"),
    );
    expect(reward.last).toBeGreaterThan(reward.first + 0.1);
  },
);
