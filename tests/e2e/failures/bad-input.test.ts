/** Whole runs on what cannot be learnt from: each ends by itself, soon, with an error that names what is wrong. */
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { loadModel } from "../../../ts/native/index.ts";
import { prl, readJson, workspace } from "../../support/prl.ts";
import { type StandInOptions, VllmStandIn } from "../../support/vllm/vllm-stand-in.ts";
import { longTest } from "../../support/form.ts";

const CONFIG = join(import.meta.dirname, "../configs/broken.toml");
const SMALL_CHAT = join(import.meta.dirname, "../../../configs/small-chat/model");

let place: Awaited<ReturnType<typeof workspace>>;
/** The made-up weights that every run here begins with. */
let model: string;
beforeAll(async () => {
  place = await workspace("empty");
  const { code, stderr } = await run("good");
  expect([code, stderr]).toEqual([0, ""]);
  const [name = ""] = await readdir(join(place.cache, "models"));
  model = join(place.cache, "models", name);
});
afterAll(() => place.remove());

const runDir = (name: string) => join(place.dir, "outputs", name);
function run(name: string, ...more: string[]) {
  const options = { cwd: place.dir, cache: place.cache };
  return prl(["rl", CONFIG, "--run.name", name, ...more], options);
}

/** Ended by itself, with this code, saying this. */
async function failed(name: string, code: string, texts: string[], more: string[]): Promise<void> {
  const { code: status, signal, stderr } = await run(name, ...more);
  expect([status, signal], stderr).toEqual([1, null]);
  for (const text of [code, ...texts]) expect(stderr).toContain(text);
  expect(await readJson(join(runDir(name), "summary.json"))).toMatchObject({
    status: "failed",
    error: { code },
  });
}

const how = (what: string) => ["--orchestrator.train.source.0.env.args", JSON.stringify({ how: what })];

test.each<[string, string[], string, string]>([
  ["rewards that are all 0", how("zero"), "PRL_ORCHESTRATOR_STARVED", "rewards were all equal"],
  ["an environment that always fails", how("throws"), "PRL_ORCHESTRATOR_STARVED", "nobody is at home"],
  ["rewards that are not finite", how("nan"), "PRL_ORCHESTRATOR_STARVED", "returned NaN"],
])("%s", async (what, more, code, text) => failed(what.replaceAll(" ", "-"), code, [text], more));

test("a custom filter that never returns", async () => {
  const path = `${join(import.meta.dirname, "../configs/broken.ts")}#endless`;
  const filters = JSON.stringify([{ type: "custom", path, deadline_s: 1 }]);
  await failed("endless", "PRL_USER_DEADLINE", ["#endless", "within 1 s"], ["--orchestrator.filters", filters]);
});

test("weights that are not finite", async () => {
  const folder = join(place.dir, "nan-model");
  await cp(model, folder, { recursive: true });
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  const begin = 8 + Number(bytes.readBigUInt64LE(0));
  for (let at = begin; at + 4 <= bytes.length; at += 4) bytes.writeFloatLE(Number.NaN, at);
  await writeFile(path, bytes);
  await failed("nan", "PRL_ENGINE_WEIGHTS", ["holds NaN at its element 0"], ["--model.name", folder]);
});

test.each<[string, Partial<StandInOptions>, string, string]>([
  ["that says it has the new weights and has not", { keepsWeights: true }, "PRL_CANARY_OUT_OF_BAND", "for version 1"],
  ["whose log-probabilities are no numbers", { nanLogprobs: true }, "PRL_ORCHESTRATOR_STARVED", "logprob"],
])("an engine %s", async (_, fault, code, text) => {
  const engine = await loadModel(model, { threads: 1 });
  const server = new VllmStandIn(engine, { modelName: "served", ...fault });
  try {
    const url = JSON.stringify([await server.listen()]);
    const more = ["--orchestrator.client.base-url", url, "--orchestrator.client.api", "vllm"];
    await failed(Object.keys(fault).join(), code, [text], more);
  } finally {
    await server.close();
    await engine.close();
  }
});

/** One bit of the last weight. */
async function changeWeights(folder: string): Promise<void> {
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  bytes[bytes.length - 4] = (bytes.at(-4) ?? 0) ^ 1;
  await writeFile(path, bytes);
}

test("a run that is resumed with another model, under its name or under the same one", async () => {
  const [other, own] = [join(place.dir, "other"), join(place.dir, "own")];
  await cp(model, other, { recursive: true });
  await cp(model, own, { recursive: true });
  expect((await run("mine", "--model.name", own)).code).toBe(0);
  const resumed = (name: string) => run("mine", "--resume", "--model.name", name, "--max-steps", "2");
  const refused = async (name: string, text: string) => {
    const { code, stderr } = await resumed(name);
    expect(code).toBe(2);
    for (const part of ["PRL_RUN_DRIFT", text]) expect(stderr).toContain(part);
  };
  await refused(other, "model.name");
  await cp(SMALL_CHAT, own, { recursive: true });
  await refused(own, "is another model than the run's: tokenizer.json,");
  await cp(model, own, { recursive: true });
  await changeWeights(own);
  await refused(own, "has other weights than the run's model had when step_1 was saved");
  await cp(model, own, { recursive: true });
  expect((await resumed(own)).code).toBe(0);
});

longTest("a run that is resumed with another reference under the same name", async () => {
  const reference = join(place.dir, "reference");
  await cp(model, reference, { recursive: true });
  const kl = ["--trainer.loss.kl.estimator", "k2", "--trainer.loss.kl.coef", "1"];
  const pulled = ["--trainer.loss.type", "grpo", ...kl, "--trainer.loss.reference", reference];
  expect((await run("pulled", "--max-steps", "2", "--ckpt.interval", "1", ...pulled)).code).toBe(0);
  await changeWeights(reference);
  const again = ["--resume", "1", "--max-steps", "3", ...pulled];
  const { code, stderr } = await run("pulled", ...again);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("has other weights than the reference of the run's loss"),
  ]);
  expect(stderr).toContain("PRL_RUN_DRIFT");
  // Nothing was taken away.
  expect(await readdir(join(runDir("pulled"), "checkpoints"))).toContain("step_2");
  expect(await readJson(join(runDir("pulled"), "summary.json"))).toMatchObject({ status: "completed", steps: 2 });
  await cp(model, reference, { recursive: true });
  expect((await run("pulled", ...again)).code).toBe(0);
});
