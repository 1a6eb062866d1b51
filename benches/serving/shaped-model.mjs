// Models with random weights in the shapes of the engine's benches (benches/shapes), with the tokenizer of configs/reverse-text.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomCheckpoint } from "prl-lm/engine";
import { openSafetensors, writeSafetensors } from "prl-lm/weights";

const TOKENIZER = join(import.meta.dirname, "../../configs/reverse-text/model");
/** The end token of that tokenizer. */
const END = 257;

/** Writes a model of the shape into the folder `dir`, which is new; its tensors are float32 or bfloat16. */
export async function makeModel(shape, dir, { seed = 1, dtype = "float32" } = {}) {
  const configDir = `${dir}-config`;
  for (const folder of [dir, configDir]) mkdirSync(folder);
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) cpSync(join(TOKENIZER, file), join(configDir, file));
  const config = JSON.parse(readFileSync(join(import.meta.dirname, `../shapes/${shape}.json`), "utf8"));
  const keys = { initializer_range: 0.02, eos_token_id: END, torch_dtype: dtype };
  writeFileSync(join(configDir, "config.json"), JSON.stringify({ ...config, ...keys }));
  await randomCheckpoint(configDir, dir, seed);
  if (dtype !== "bfloat16") return;
  const files = readdirSync(dir).filter((file) => file.endsWith(".safetensors"));
  for (const file of files) await toBfloat16(join(dir, file));
}

/** Keeps the upper half of each number of a float32 file. */
async function toBfloat16(path) {
  const file = await openSafetensors(path);
  const cut = (name) => {
    const { shape, data } = file.tensor(name);
    const halves = new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2);
    const upper = new Uint16Array(halves.length / 2);
    for (let i = 0; i < upper.length; i++) upper[i] = halves[2 * i + 1];
    return { dtype: "BF16", shape, data: new Uint8Array(upper.buffer) };
  };
  const tensors = Object.fromEntries(file.names.map((name) => [name, cut(name)]));
  await writeSafetensors(path, tensors, { metadata: file.metadata });
  file.close();
}
