/** The check before a run and the engine itself agree, for configs of every kind. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ARCHITECTURES, checkArchitecture, loadModel } from "../../../ts/native/index.ts";
import { prl } from "../cli/run.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let dir: string;
let config: Record<string, unknown>;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-architectures-"));
  ({ dir } = await publishVersion(root, 0));
  config = JSON.parse(await readFile(join(dir, "config.json"), "utf8")) as Record<string, unknown>;
});
afterAll(() => rm(root, { recursive: true, force: true }));

const CODE = "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED";
const TYPES = [undefined, null, ...Object.keys(ARCHITECTURES), "mixtral", "toString", 7];
const CLASSES = [
  undefined,
  null,
  ...Object.values(ARCHITECTURES).map((name) => [name]),
  ["MixtralForCausalLM"],
  [],
  "x",
];
const PAIRS = TYPES.flatMap((type) => CLASSES.map((names) => [type, names] as const));

test.each(PAIRS)("model_type %j with architectures %j", async (type, names) => {
  const changed = { ...config, model_type: type, architectures: names };
  await writeFile(join(dir, "config.json"), JSON.stringify(changed));
  const codeOf = async (work: () => unknown): Promise<string | null> => {
    try {
      await work();
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const checked = await codeOf(() => checkArchitecture(changed, "config.json"));
  const loaded = await codeOf(async () => (await loadModel(dir, { threads: 1, kvCacheBytes: 1 << 20 })).close());
  expect(checked === CODE).toBe(loaded === CODE);
});

test("prl rl names the unknown architecture and the known ones, before it makes a directory", async () => {
  await writeFile(join(dir, "config.json"), JSON.stringify({ ...config, model_type: "mixtral" }));
  await writeFile(
    join(root, "rl.toml"),
    `max_steps = 1\nseq_len = 64\noutput_dir = "out"\n[model]\nname = ${JSON.stringify(dir)}\n` +
      `[orchestrator]\nbatch_size = 2\ngroup_size = 2\n[[orchestrator.train.source]]\nenv.id = "reverse-text"\n`,
  );
  const { code, stderr } = await prl(["rl", "@", "rl.toml"], root);
  expect([code, stderr]).toEqual([2, expect.stringContaining(CODE)]);
  expect(stderr).toMatch(
    /rl\.toml:5: model\.name: .*config\.json: model_type = "mixtral".*Qwen3ForCausalLM \(qwen3\)/u,
  );
  await expect(readFile(join(root, "out"))).rejects.toMatchObject({ code: "ENOENT" });
});
