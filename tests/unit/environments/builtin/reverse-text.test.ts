import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

import { useOf } from "../../../../ts/environments/builtin/reverse-text/strings.ts";
import { type Environment, loadEnvironment } from "../../../../ts/environments/index.ts";
import { loadTokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "./reverse-text-model.ts";

const PROMPT = /^reverse: ([a-z]{4,12})\n$/;
let reverseText: Environment;

beforeAll(async () => {
  reverseText = await loadEnvironment("reverse-text");
});

async function rowsOf(split: "train" | "eval", seed: number, count: number, args = {}) {
  const { tasks } = await reverseText.configure(args).tasks(split, seed).page(null, count);
  return tasks.map((task) => task.data as { prompt: string; answer: string });
}

function demonstrations(seed: number, count: number, args = {}) {
  const pairs = reverseText.configure(args).demonstrations(seed)[Symbol.iterator]();
  return Array.from({ length: count }, () => pairs.next().value as { prompt: string; completion: string });
}

const textOf = ({ prompt }: { prompt: string }) => PROMPT.exec(prompt)?.[1] ?? `no match: ${prompt}`;
const reversed = (text: string) => Array.from(text).toReversed().join("");

describe("reverse-text", () => {
  it("asks for strings of 4 to 12 letters and knows the answers", async () => {
    const rows = await rowsOf("train", 1, 2000);
    for (const row of rows) expect(row.answer).toBe(reversed(textOf(row)));
    const lengths = rows.map((row) => row.answer.length);
    for (let length = 4; length <= 12; length += 1) {
      // Uniform over nine lengths: 222 expected, ten standard deviations are 140.
      expect(Math.abs(lengths.filter((other) => other === length).length - 2000 / 9)).toBeLessThan(140);
    }
    expect(new Set(rows.map((row) => row.answer).join("")).size).toBe(26);
  });

  it("gives each worker the same tasks for a seed, and others for another", async () => {
    expect(await rowsOf("eval", 3, 50)).toEqual(await rowsOf("eval", 3, 50));
    expect(await rowsOf("eval", 4, 50)).not.toEqual(await rowsOf("eval", 3, 50));
    expect(demonstrations(3, 50)).toEqual(demonstrations(3, 50));
    expect(demonstrations(4, 50)).not.toEqual(demonstrations(3, 50));
  });

  it("never shares a string between training, evaluation and demonstrations, whatever the seeds", async () => {
    const uses = { train: new Set<string>(), eval: new Set<string>(), demonstrations: new Set<string>() };
    // Few letters and short strings: every use sees most of the strings there are for it.
    const args = { min_len: 3, max_len: 6, alphabet: "abc" };
    const text = (prompt: string) => prompt.slice("reverse: ".length, -1);
    for (let seed = 0; seed < 4; seed += 1) {
      for (const row of await rowsOf("train", seed, 1000, args)) uses.train.add(text(row.prompt));
      for (const row of await rowsOf("eval", seed, 1000, args)) uses.eval.add(text(row.prompt));
      for (const pair of demonstrations(seed, 1000, args)) uses.demonstrations.add(text(pair.prompt));
    }
    const total = uses.train.size + uses.eval.size + uses.demonstrations.size;
    expect(new Set([...uses.train, ...uses.eval, ...uses.demonstrations]).size).toBe(total);
    // All strings of 3 to 6 letters of three, 27 + 81 + 243 + 729, less 72 palindromes.
    expect(total).toBeGreaterThan(930);
    for (const [use, strings] of Object.entries(uses)) for (const string of strings) expect(useOf(string)).toBe(use);
  });

  it("splits strings into uses about as 3 to 1 to 4", () => {
    const counts = { train: 0, eval: 0, demonstrations: 0 };
    for (let i = 0; i < 26 ** 3; i += 1)
      counts[
        useOf(`${String.fromCharCode(97 + (i % 26), 97 + (Math.floor(i / 26) % 26), 97 + Math.floor(i / 676))}x`)
      ] += 1;
    expect(counts.eval / 26 ** 3).toBeCloseTo(1 / 8, 1);
    expect(counts.train / 26 ** 3).toBeCloseTo(3 / 8, 1);
    expect(counts.demonstrations / 26 ** 3).toBeCloseTo(1 / 2, 1);
  });

  it("demonstrates cleanly first and noisily from the pair asked for", () => {
    const pairs = demonstrations(1, 600, { answer_noise: 0.6, noise_after: 200 });
    const wrong = pairs.map((pair) => {
      const gold = reversed(textOf(pair));
      expect(pair.completion).toHaveLength(gold.length);
      return Array.from(gold).filter((letter, i) => letter !== pair.completion[i]).length / gold.length;
    });
    expect(wrong.slice(0, 200).every((share) => share === 0)).toBe(true);
    const noisy = wrong.slice(200).reduce((sum, share) => sum + share, 0) / 400;
    // 60 % are redrawn and one in 26 of those hits the same letter.
    expect(noisy).toBeGreaterThan(0.5);
    expect(noisy).toBeLessThan(0.65);
  });

  it("rewards by similarity of the stripped text and counts exact matches as they stand", async () => {
    const configured = reverseText.configure();
    const task = { key: "0", hash: "", data: { prompt: "reverse: abcd\n", answer: "dcba" } };
    expect(await configured.score(task, "dcba")).toMatchObject({ reward: 1, metrics: { exact_match: 1 } });
    expect(await configured.score(task, " dcba\n")).toMatchObject({ reward: 1, metrics: { exact_match: 0 } });
    // difflib.SequenceMatcher(None, "dcxa", "dcba").ratio()
    expect(await configured.score(task, "dcxa")).toMatchObject({ reward: 0.75, metrics: { exact_match: 0 } });
    expect(await configured.score(task, "")).toMatchObject({ reward: 0 });
  });

  it("gives its gold answers full marks", async () => {
    const configured = reverseText.configure();
    const { tasks } = await configured.tasks("eval", 1).page(null, 50);
    for (const task of tasks) await configured.validate(task);
  });

  it("says which argument is wrong, and when no string is left for a use", async () => {
    expect(() => reverseText.configure({ min_len: 5, max_len: 4 })).toThrow(/max_len/);
    expect(() => reverseText.configure({ alphabet: "aab" })).toThrow(/twice/);
    expect(() => reverseText.configure({ answer_noise: 2 })).toThrow(/answer_noise/);
    const single = { min_len: 2, max_len: 2, alphabet: "a" };
    const missing = (["train", "eval"] as const).filter((split) => useOf("aa") !== split);
    for (const split of missing)
      await expect(rowsOf(split, 1, 1, single)).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_INVALID" });
    expect(missing.length).toBeGreaterThan(0);
  });
});

describe("the reverse-text model folder", () => {
  it("is what its script makes", async () => {
    const script = fileURLToPath(new URL("../make-model.mjs", pathToFileURL(`${REVERSE_TEXT_MODEL}/`)));
    const folder = await mkdtemp(join(tmpdir(), "prl-model-"));
    try {
      await promisify(execFile)(process.execPath, [script, folder]);
      for (const name of ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"]) {
        const made = await readFile(join(folder, name), "utf8");
        expect(made).toBe(await readFile(join(REVERSE_TEXT_MODEL, name), "utf8"));
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("has a tokenizer whose ids are the bytes of the text, with pad and end of sequence after them", async () => {
    const tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
    expect([tokenizer.vocabSize, tokenizer.padTokenId, tokenizer.eosTokenId]).toEqual([260, 256, 257]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect([...tokenizer.encode(text)]).toEqual([...Buffer.from(text)]);
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
    expect(tokenizer.decode([99, 98, 97, 257], { skipSpecialTokens: true })).toBe("cba");
  });
});
