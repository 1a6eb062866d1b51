// Models with random weights in the shapes of the engine's benches (benches/shapes), with the tokenizer of configs/reverse-text.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomCheckpoint } from "prl-lm/engine";

const TOKENIZER = join(import.meta.dirname, "../../configs/reverse-text/model");
/** The end token of that tokenizer. */
const END = 257;

/** Writes a model of the shape into the folder `dir`, which is new; its tensors are float32 or bfloat16. */
async function makeModel(shape, dir, { seed = 1, dtype = "float32" } = {}) {
  const configDir = `${dir}-config`;
  for (const folder of [dir, configDir]) mkdirSync(folder);
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) cpSync(join(TOKENIZER, file), join(configDir, file));
  const config = JSON.parse(readFileSync(join(import.meta.dirname, `../shapes/${shape}.json`), "utf8"));
  const keys = { initializer_range: 0.02, eos_token_id: END, torch_dtype: dtype };
  writeFileSync(join(configDir, "config.json"), JSON.stringify({ ...config, ...keys }));
  await randomCheckpoint(configDir, dir, seed);
}

/** Runs `work` with the folders of such models, each `{ shape, seed, dtype }`, in one folder that is removed afterwards. */
export async function withModels(models, work) {
  const root = mkdtempSync(join(tmpdir(), "prl-bench-"));
  try {
    const dirs = models.map((_model, at) => join(root, `model-${at}`));
    for (const [at, { shape, ...more }] of models.entries()) await makeModel(shape, dirs[at], more);
    await work(dirs);
  } finally {
    rmSync(root, { recursive: true });
  }
}
