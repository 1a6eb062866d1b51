/** What is refused of a model before anything of a run exists. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { checkModel } from "../../../../ts/launcher/models/base-model.ts";

const LOOK = { provenance: undefined, pull: null, engine: [] };
const MODEL = join(import.meta.dirname, "../../../../configs/reverse-text/model");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "prl-check-model-"));
  await writeFile(join(folder, "config.json"), "{}");
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

test("a folder of named chat templates, which no saved model could have", async () => {
  await mkdir(join(folder, "chat_templates"));
  await expect(checkModel(folder, LOOK)).rejects.toMatchObject({
    code: "PRL_ENGINE_CONFIG_UNSUPPORTED",
    message: expect.stringContaining(`model.name: ${folder} has a folder chat_templates`),
  });
  await rm(join(folder, "chat_templates"), { recursive: true });
  await expect(checkModel(folder, LOOK)).rejects.toMatchObject({
    code: "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
  });
});

test("a name that is no folder and no model of the hub, with advice", async () => {
  await expect(checkModel("some model", LOOK)).rejects.toMatchObject({
    code: "PRL_CONFIG_FILE",
    message: expect.stringContaining("org/name is a model of the Hugging Face hub"),
  });
});

test("a config that the engine refuses, where the engine is to take it", async () => {
  const config = JSON.parse(await readFile(join(MODEL, "config.json"), "utf8")) as object;
  const own = join(folder, "scaled");
  await cp(MODEL, own, { recursive: true });
  await writeFile(join(own, "config.json"), JSON.stringify({ ...config, logit_scale: 3 }));
  expect(await checkModel(own, LOOK)).toBeNull();
  for (const what of ["train", "serve"] as const) {
    await expect(checkModel(own, { ...LOOK, engine: [what] })).rejects.toMatchObject({
      code: "PRL_ENGINE_CONFIG_UNSUPPORTED",
      message: expect.stringMatching(/^model\.name: .*scaled: .*logit_scale/u),
    });
    expect(await checkModel(MODEL, { ...LOOK, engine: [what] })).toBeNull();
  }
});
