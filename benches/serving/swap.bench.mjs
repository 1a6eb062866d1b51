// Other weights for a model of 100 million parameters while it samples 4 sequences: how long the call takes, and how long a sequence waits
// for its next token at most. By turns with a plain copy of the same bytes from the page cache into new memory, and with sampling alone.
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { loadModel } from "prl-lm/engine";
import { useTwoCores } from "../measurement/cores.mjs";
import { middle, report, threads } from "../measurement/report.mjs";
import { withModels } from "./shaped-model.mjs";

const SEQUENCES = 4;
const PROMPT = 16;
const ROUNDS = 5;
/** How long sampling alone is watched. */
const ALONE_MS = 1_000;

useTwoCores();
const models = [0, 1].map((seed) => ({ shape: "100m", seed }));
await withModels(models, async (versions) => {
  const model = await loadModel(versions[0], { threads, prefixCache: false });
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measured(model, versions[(round + 1) % 2]));
  await model.close();
  const lower = (name, of, rivals) =>
    report({
      name,
      unit: `ms (the middle of ${ROUNDS})`,
      better: "lower",
      ours: middle(rounds.map(({ swap }) => swap[of])),
      rivals: Object.fromEntries(rivals.map((rival) => [rival, middle(rounds.map((values) => values[rival][of]))])),
    });
  lower("swap-call", "took", ["copy"]);
  lower("swap-longest-gap", "gap", ["alone", "copy"]);
});

/** Milliseconds that each took, and the longest that a sequence waited for a token meanwhile. */
async function measured(model, next) {
  const sampling = watchSampling(model);
  await sampling.goesOn();
  const alone = await sampling.during(() => delay(ALONE_MS));
  const copy = await sampling.during(() => copyOf(next));
  const swap = await sampling.during(() => model.swapWeights(next));
  await sampling.end();
  return { alone, copy, swap };
}

/** Samples until `end`. */
function watchSampling(model) {
  const requests = Array.from({ length: SEQUENCES }, (_, i) => ({
    id: String(i),
    promptTokenIds: Array.from({ length: PROMPT }, (__, t) => (t * 31 + i * 7) % 256),
    maxTokens: model.config.maxModelLen - PROMPT,
    ignoreEos: true,
    seed: i,
  }));
  const latest = new Map(requests.map(({ id }) => [id, 0]));
  let gap = 0;
  let isOver = false;
  const read = async () => {
    for await (const { id, error } of model.generate(requests)) {
      if (error !== undefined) throw error;
      if (isOver) return;
      const now = performance.now();
      gap = Math.max(gap, now - latest.get(id));
      latest.set(id, now);
    }
    throw new Error("the sequences ended before the measurement");
  };
  const reading = read();
  /** Waits until each sequence has another token. */
  const goesOn = async () => {
    const now = performance.now();
    while ([...latest.values()].some((at) => at <= now)) await Promise.race([delay(1), reading]);
  };
  return {
    goesOn,
    /** How long some work took, and the longest wait for a token that began or ended in it. */
    async during(work) {
      gap = 0;
      const startedAt = performance.now();
      await work();
      const took = performance.now() - startedAt;
      await goesOn();
      return { took, gap };
    },
    async end() {
      isOver = true;
      await reading;
    },
  };
}

/** Reads the weights of a folder into new memory, in one call a file. */
async function copyOf(dir) {
  const files = (await readdir(dir)).filter((file) => file.endsWith(".safetensors"));
  for (const name of files) {
    const path = join(dir, name);
    const { size } = await stat(path);
    const file = await open(path);
    await file.read(Buffer.allocUnsafeSlow(size), 0, size, 0);
    await file.close();
  }
}
