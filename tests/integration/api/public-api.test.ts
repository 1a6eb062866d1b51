/** Every export of the public entry points, by the names that users import (the built package). */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { advantages, policyLoss } from "prl-lm/algorithms";
import { loadModel, openTrainer, randomCheckpoint, type Model } from "prl-lm/engine";
import { defineEnvironment, reward, singleTurn } from "prl-lm/environments";
import { sequenceRatio } from "prl-lm/environments/verify";
import { buildBatch, flopModel, packSequences, type Sample } from "prl-lm/packing";
import { SandboxPool } from "prl-lm/sandbox";
import { loadTokenizer } from "prl-lm/tokenizer";
import { openSafetensors, writeSafetensors } from "prl-lm/weights";
import * as prl from "prl-lm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../support/prl.ts";

const CONFIG = join(ROOT, "configs/reverse-text/model");

let dir: string;
let model: Model;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-api-"));
  await randomCheckpoint(CONFIG, dir, 3);
  model = await loadModel(dir, { dtype: "float32", threads: 2 });
});
afterAll(async () => {
  await model.close();
  await rm(dir, { recursive: true });
});

const PROMPT = [...Buffer.from("reverse: abc\n")];
const request = { promptTokenIds: PROMPT, maxTokens: 6, temperature: 1, seed: 11, ignoreEos: true };

async function sample(requests: Parameters<Model["generate"]>[0]) {
  const tokens = new Map<string, number[]>();
  const logprobs = new Map<string, number[]>();
  const ends = new Map<string, string | null>();
  for await (const increment of model.generate(requests)) {
    tokens.set(increment.id, [...(tokens.get(increment.id) ?? []), ...increment.tokenIds]);
    logprobs.set(increment.id, [...(logprobs.get(increment.id) ?? []), ...increment.logprobs]);
    ends.set(increment.id, increment.error?.code ?? increment.finishReason);
  }
  return { tokens, logprobs, ends };
}

describe("prl-lm/engine", () => {
  test("logits predict the next token and agree with logprobs", async () => {
    const ids = Uint32Array.from(PROMPT);
    const cuSeqlens = Uint32Array.of(0, 5, ids.length);
    const logits = await model.logits(ids, cuSeqlens);
    const logprobs = await model.logprobs(ids, cuSeqlens, { temperature: 0.7 });
    const V = model.config.vocabSize;
    expect(logits).toHaveLength(ids.length * V);
    expect(logprobs).toHaveLength(ids.length);
    for (const [t, id] of ids.entries()) {
      if (t === 0 || t === 5) expect(logprobs[t]).toBe(0);
      else {
        const row = [...logits.subarray((t - 1) * V, t * V)].map((logit) => logit / 0.7);
        const top = Math.max(...row);
        const normalizer = top + Math.log(row.reduce((sum, logit) => sum + Math.exp(logit - top), 0));
        expect(logprobs[t]).toBeCloseTo((row[id] ?? Number.NaN) - normalizer, 4);
      }
    }
  });

  test("generate samples the same for the same seed, and its log-probabilities are those of scoring, bit for bit", async () => {
    const { tokens, logprobs } = await sample([
      { id: "a", ...request },
      { id: "b", ...request },
    ]);
    const completion = tokens.get("a") ?? [];
    expect(completion).toHaveLength(6);
    expect(tokens.get("b")).toEqual(completion);
    const ids = Uint32Array.from([...PROMPT, ...completion]);
    const scored = await model.logprobs(ids, Uint32Array.of(0, ids.length));
    expect(logprobs.get("a")).toEqual([...scored.subarray(PROMPT.length)]);
  });

  test("one bad request is refused with an error, the others go on; temperature 0 is argmax", async () => {
    const { tokens, ends } = await sample([
      { id: "bad", ...request, promptTokenIds: [9999] },
      { id: "greedy", ...request, temperature: 0, maxTokens: 1 },
    ]);
    expect(ends.get("bad")).toBe("PRL_ENGINE_INPUT");
    expect(ends.get("greedy")).toBe("length");
    const logits = await model.logits(Uint32Array.from(PROMPT), Uint32Array.of(0, PROMPT.length));
    const last = [...logits.subarray(-model.config.vocabSize)];
    expect(tokens.get("greedy")).toEqual([last.indexOf(Math.max(...last))]);
  });

  test("aborting the signal ends a generation", async () => {
    const abort = new AbortController();
    const long = model.generate([{ id: "long", ...request, maxTokens: 100 }], { signal: abort.signal });
    await expect(
      (async () => {
        for await (const { tokenIds } of long) if (tokenIds.length > 0) abort.abort();
      })(),
    ).rejects.toThrow(/abort/i);
    expect(model.stats().running).toBe(0);
  });

  test("a trainer's step lowers the loss, its checkpoint loads, and swapWeights changes the samples", async () => {
    const trainer = await openTrainer(dir, { threads: 1, optim: { type: "adamw", lr: 1e-3, weight_decay: 0 } });
    const ids = Uint32Array.from([...PROMPT, ...Buffer.from("cba"), 257]);
    const T = ids.length;
    const batch = {
      inputIds: ids,
      inferenceLogprobs: new Float32Array(T),
      advantages: new Float32Array(T),
      temperatures: new Float32Array(T).fill(1),
      lossMask: new Uint8Array(T),
      cuSeqlens: Uint32Array.of(0, T),
      ceWeights: new Float32Array(T).fill(1, PROMPT.length),
    };
    const losses: number[] = [];
    for (let step = 0; step < 5; step++) {
      losses.push((await trainer.forwardBackward(batch)).loss);
      expect((await trainer.step()).gradNorm).toBeGreaterThan(0);
    }
    expect(losses[4]).toBeLessThan(losses[0] ?? 0);
    const name = "model.embed_tokens.weight";
    expect(trainer.parameterNames()).toContain(name);
    expect(await trainer.parameter(name)).toHaveLength(260 * 192);
    await trainer.forwardBackward(batch);
    expect((await trainer.gradient(name)).some((value) => value !== 0)).toBe(true);

    const out = join(dir, "trained");
    const { digest } = await trainer.save(out);
    const expected = await trainer.logprobs(ids, Uint32Array.of(0, T));
    const other = await loadModel(dir, { threads: 1 });
    expect(await other.swapWeights(out, { version: 5, digest })).toEqual({ version: 5, digest });
    expect([...(await other.logprobs(ids, Uint32Array.of(0, T)))]).toEqual([...expected]);
    expect(other.stats()).toMatchObject({ version: 5, digest });
    await other.close();
    await expect(other.logits(ids, Uint32Array.of(0, T))).rejects.toMatchObject({ code: "PRL_ENGINE_CLOSED" });
    await trainer.close();
  });

  test("a missing file or model is an error with its code", async () => {
    const loss = (type: string) =>
      openTrainer(dir, { loss: { type } }).then((trainer) => trainer.forwardBackward(empty()));
    const empty = () => ({
      inputIds: Uint32Array.of(1, 2),
      inferenceLogprobs: new Float32Array(2),
      advantages: new Float32Array(2),
      temperatures: Float32Array.of(1, 1),
      lossMask: Uint8Array.of(0, 1),
      cuSeqlens: Uint32Array.of(0, 2),
    });
    await expect(loss("gspoo")).rejects.toMatchObject({ code: "PRL_LOSS_UNKNOWN" });
    await expect(openTrainer(dir, { optim: { type: "mion" } })).rejects.toMatchObject({
      code: "PRL_OPTIM_UNKNOWN",
    });
    await expect(loadModel(join(dir, "nowhere"))).rejects.toMatchObject({ code: expect.stringMatching(/^PRL_/) });
  });
});

describe("prl-lm/tokenizer", () => {
  test("encodes bytes and decodes them", async () => {
    const tokenizer = await loadTokenizer(CONFIG);
    expect([...tokenizer.encode("reverse: ab\n")]).toEqual([...Buffer.from("reverse: ab\n")]);
    expect(tokenizer.decode(Uint32Array.from([...Buffer.from("grün"), 257]), { skipSpecialTokens: true })).toBe("grün");
    expect([tokenizer.eosTokenId, tokenizer.padTokenId]).toEqual([257, 256]);
  });
});

describe("prl-lm/algorithms", () => {
  test("policyLoss and advantages compute in the precision given", () => {
    const inputs = {
      logprobs: Float64Array.of(0, -1),
      inferenceLogprobs: Float64Array.of(0, -1),
      advantages: Float64Array.of(0, 2),
      mask: Uint8Array.of(0, 1),
      cuSeqlens: Uint32Array.of(0, 2),
    };
    const { loss, gradLogprobs } = policyLoss("default", inputs);
    expect(loss).toBe(-2);
    expect(gradLogprobs).toEqual(Float64Array.of(0, -2));
    expect(() => policyLoss("nothing", inputs)).toThrow(expect.objectContaining({ code: "PRL_LOSS_UNKNOWN" }));
    expect(advantages("grpo", [[1, 0]], { std: "none" })).toEqual([[0.5, -0.5]]);
    expect(advantages("max_rl", [[1, 0]])).toEqual([[1, -1]]);
    expect(() => advantages("nothing", [[1, 0]], {})).toThrow(
      expect.objectContaining({ code: "PRL_ADVANTAGE_UNKNOWN" }),
    );
  });
});

describe("prl-lm/packing and prl/weights", () => {
  const sampleOf = (length: number): Sample => ({
    tokenIds: new Uint32Array(length).fill(7),
    mask: new Uint8Array(length).fill(1, 1),
    logprobs: new Float32Array(length).fill(-1, 1),
    advantages: new Float32Array(length).fill(0.5, 1),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 1, 4),
  });

  test("packs, builds a batch per rank, and counts over all ranks", () => {
    expect(packSequences([], { seqLen: 8 })).toEqual([]);
    const plan = packSequences([5, 3, 4, 4], { seqLen: 8, ranks: 2 });
    const batches = buildBatch([5, 3, 4, 4].map(sampleOf), plan, { seqLen: 8, ranks: 2 });
    expect(batches).toHaveLength(2);
    expect(batches.map(({ inputIds }) => inputIds.length)).toEqual([8, 8]);
    expect(batches.map(({ counts }) => counts.rl)).toEqual([12, 12]);
    expect(typeof flopModel).toBe("function");
  });

  test("writes and opens safetensors, and names the file that is broken", async () => {
    const path = join(dir, "x.safetensors");
    const data = new Uint8Array(Float32Array.of(1, 2, 3).buffer);
    await writeSafetensors(path, { x: { dtype: "F32", shape: [3], data } }, { metadata: { format: "pt" } });
    const file = await openSafetensors(path);
    expect(file.names).toEqual(["x"]);
    expect(file.metadata).toEqual({ format: "pt" });
    expect(file.tensor("x")).toEqual({ dtype: "F32", shape: [3], data });
    file.close();
    await writeFile(path, "not a header at all");
    await expect(openSafetensors(path)).rejects.toThrow(
      expect.objectContaining({ code: "PRL_WEIGHTS_FORMAT", message: expect.stringContaining(path) }),
    );
  });
});

describe("prl-lm/sandbox", () => {
  test("runs on a warm interpreter, tests in one sandbox, and refuses unimplemented options by a code", async () => {
    await using pool = await SandboxPool.start({ warm: { python: 2 } });
    const run = await pool.runOnce({ command: ["python3", "-c", "print(6 * 7)"] });
    expect(run).toMatchObject({ cause: "EXITED", exitCode: 0, stdout: Buffer.from("42\n") });
    const tests = await pool.executeCode("print(int(input()) + 1)", [{ input: "1", output: "2" }]);
    expect(tests.passed).toBe(true);
    const later = pool.executeCode("", [{ input: "", output: "" }], { language: "cobol" as "python" });
    await expect(later).rejects.toMatchObject({ code: expect.stringMatching(/_UNSUPPORTED$/) });
  });
});

describe("prl-lm and prl-lm/environments", () => {
  test("define, load and score an environment", async () => {
    expect(sequenceRatio("abcd", "bcde")).toBe(0.75);
    expect(typeof defineEnvironment).toBe("function");
    expect([typeof reward, typeof singleTurn]).toEqual(["function", "function"]);
    const environment = (await prl.loadEnvironment("reverse-text")).configure();
    const [task] = (await environment.tasks("eval", 1).page(null, 1)).tasks;
    expect(task).toBeDefined();
    if (task !== undefined) await environment.validate(task);
  });

  test("loadConfig resolves, rl and sft exist, errors have codes", async () => {
    const { config } = await prl.loadConfig(
      [join(ROOT, "configs/reverse-text/rl.toml")],
      { max_steps: 3 },
      { kind: "rl" },
    );
    expect(config).toMatchObject({ max_steps: 3, orchestrator: { group_size: 8 } });
    expect([typeof prl.rl, typeof prl.sft]).toEqual(["function", "function"]);
    await expect(prl.loadConfig(["nowhere.toml"])).rejects.toBeInstanceOf(prl.PrlError);
  });
});
