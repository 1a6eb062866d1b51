import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { sftConfigSchema } from "../../../ts/config/schema/sft.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../ts/renderers/index.ts";
import { assertSameData, openSftData, type SftPosition, type SftSamples } from "../../../ts/trainer/sft/sft-data.ts";
import { mockHub } from "../../support/hub/mock-hub.ts";
import { type SftFolder, sftFolder } from "../../support/training/sft-run.ts";

let folder: SftFolder;
let tokenizer: Tokenizer;
let renderer: Renderer;
beforeAll(async () => {
  folder = await sftFolder();
  [tokenizer, renderer] = await Promise.all([loadTokenizer(folder.modelDir), loadRenderer(folder.modelDir)]);
});
afterAll(() => folder.remove());

async function batches(data: Record<string, unknown>, sizes: readonly number[], more = {}): Promise<SftSamples[]> {
  const config = sftConfigSchema.parse({ model: { name: "m" }, max_steps: 1, data, ...more });
  const opened = await openSftData(config, { tokenizer, renderer }, new AbortController().signal);
  const found: SftSamples[] = [];
  try {
    for (const size of sizes) found.push(await opened.next(size));
  } finally {
    await opened.close();
  }
  return found;
}

const texts = ({ samples }: SftSamples): string[] => samples.map(({ tokenIds }) => tokenizer.decode(tokenIds));
const pairs = (count: number) => Array.from({ length: count }, (_, i) => ({ prompt: `${i}: `, completion: `${i}` }));

describe("rows as the data of prl sft", () => {
  it("come once in every epoch, in an order of the seed that changes with the epoch", async () => {
    const source = await folder.write("twenty.jsonl", pairs(20));
    const [first, second] = await batches({ source }, [20, 20]);
    const [again] = await batches({ source }, [20]);
    const [other] = await batches({ source }, [20], { seed: 1 });
    if (!first || !second || !again || !other) throw new Error("a batch is missing");
    const inOrder = pairs(20).map(({ prompt, completion }) => `${prompt}${completion}<|im_end|>`);
    expect(texts(first)).not.toEqual(inOrder);
    expect(texts(first).toSorted()).toEqual(inOrder.toSorted());
    expect(texts(second).toSorted()).toEqual(inOrder.toSorted());
    expect(texts(second)).not.toEqual(texts(first));
    expect(texts(again)).toEqual(texts(first));
    expect(texts(other)).not.toEqual(texts(first));
    expect([first, second].map(({ counts }) => counts["progress/epoch"])).toEqual([1, 2]);
  });

  it("go on from one epoch into the next within a batch", async () => {
    const source = await folder.write("three.jsonl", pairs(3));
    const [batch] = await batches({ source }, [7]);
    expect(batch?.samples.length).toBe(7);
    expect(batch?.counts["progress/epoch"]).toBeCloseTo(7 / 3, 12);
  });

  it("are truncated to seq_len, and the losses are counted", async () => {
    const short = { prompt: "a", completion: "b" };
    const cut = { prompt: "a", completion: "b".repeat(100) };
    const gone = { prompt: "a".repeat(100), completion: "b" };
    const source = await folder.write("long.jsonl", [short, cut, gone]);
    const [batch] = await batches({ source }, [4], { seq_len: 10 });
    const length = (row: typeof short) =>
      tokenizer.encode(row.prompt).length + tokenizer.encode(row.completion).length + 1;
    expect(batch?.samples.every(({ tokenIds }) => tokenIds.length <= 10)).toBe(true);
    const { "data/cut": cuts = 0, "data/left_out": left = 0, "data/cut_tokens": tokens = 0 } = batch?.counts ?? {};
    expect(cuts).toBe(2);
    expect(left).toBeGreaterThanOrEqual(1);
    expect(tokens).toBe(cuts * (length(cut) - 10) + left * length(gone));
  });

  it("are refused with their place when they do not fit or teach nothing", async () => {
    const good = {
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "b" },
      ],
    };
    for (const bad of [{ messages: "no" }, { messages: [{ role: "user", content: "a" }] }, {}]) {
      const source = await folder.write("bad.jsonl", [good, good, bad]);
      const refused = expect.objectContaining({
        code: "PRL_DATA_ROW",
        message: expect.stringContaining("bad.jsonl:3"),
      });
      await expect(batches({ source }, [1])).rejects.toEqual(refused);
    }
    const empty = await folder.write("empty.jsonl", []);
    await expect(batches({ source: empty }, [1])).rejects.toMatchObject({ code: "PRL_DATA_FORMAT" });
  });

  it("come from a dataset of the hub by its name", async () => {
    const lines = pairs(5).map((row) => `${JSON.stringify(row)}\n`);
    const hub = await mockHub({
      "data/train-00000-of-00001.jsonl": Buffer.from(lines.join("")),
      "data/test-00000-of-00001.jsonl": Buffer.from(lines[0] ?? ""),
    });
    vi.stubEnv("HF_ENDPOINT", hub.url);
    vi.stubEnv("PRL_CACHE_DIR", join(folder.dir, "cache"));
    try {
      const [batch] = await batches({ source: "owner/name" }, [5]);
      expect(batch && texts(batch).toSorted()).toEqual(
        pairs(5).map(({ prompt, completion }) => `${prompt}${completion}<|im_end|>`),
      );
      expect(batch?.counts["progress/epoch"]).toBe(1);
      const absent = batches({ source: "owner/absent" }, [1]);
      await expect(absent).rejects.toMatchObject({ code: "PRL_HUB_UNKNOWN" });
    } finally {
      vi.unstubAllEnvs();
      await hub.close();
    }
  });

  it("need exactly one source", () => {
    const parse = (data: object) => sftConfigSchema.safeParse({ model: { name: "m" }, max_steps: 1, data }).success;
    expect(parse({})).toBe(false);
    expect(parse({ source: "a.jsonl", env: { id: "reverse-text" } })).toBe(false);
    expect(parse({ source: "owner/name" })).toBe(true);
  });
});

describe("the data that a run goes on with", () => {
  const env = { id: "reverse-text" };
  const configured = (data: Record<string, unknown>) =>
    sftConfigSchema.parse({ model: { name: "m" }, max_steps: 1, data });
  const signal = new AbortController().signal;
  /** After `size` demonstrations. */
  async function positionAfter(data: Record<string, unknown>, size: number): Promise<SftPosition> {
    const opened = await openSftData(configured(data), { tokenizer, renderer }, signal);
    try {
      await opened.next(size);
      return { ...opened.position };
    } finally {
      await opened.close();
    }
  }
  const refused = expect.objectContaining({ code: "PRL_RUN_DRIFT" });

  it("may move to another place, but not change rows, their order or their number", async () => {
    const position = await positionAfter({ source: await folder.write("rows.jsonl", pairs(6)) }, 4);
    expect(position).toMatchObject({ taken: 4, rows: 6 });
    const other = pairs(6).map((pair, i) => (i === 5 ? { ...pair, completion: "else" } : pair));
    const moved = await folder.write("moved.jsonl", pairs(6));
    await assertSameData(configured({ source: moved }), position, signal);
    for (const [index, rows] of [other, pairs(6).toReversed(), pairs(5)].entries()) {
      const source = await folder.write(`drifted-${index}.jsonl`, rows);
      await expect(assertSameData(configured({ source }), position, signal)).rejects.toEqual(refused);
      const opening = openSftData(configured({ source }), { tokenizer, renderer }, signal, position);
      await expect(opening).rejects.toEqual(refused);
    }
    await expect(assertSameData(configured({ env }), position, signal)).rejects.toEqual(refused);
  });

  it("are those that an environment makes again", async () => {
    const position = await positionAfter({ env }, 5);
    expect(position).toMatchObject({ taken: 5, rows: null });
    await assertSameData(configured({ env }), position, signal);
    const otherEnv = configured({ env: { id: "tool-lookup" } });
    await expect(assertSameData(otherEnv, position, signal)).rejects.toEqual(refused);
  });
});

describe("prl sft on a file", () => {
  it("learns it", async () => {
    const messages = [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
    ];
    const source = await folder.write("learn.jsonl", [{ messages }, { prompt: "three ", completion: "four" }]);
    const lines = await folder.train({ max_steps: 12, data: { source, batch_size: 2 }, optim: { lr: 1e-2 } });
    expect(lines.length).toBe(12);
    expect(lines.at(-1)?.["loss/mean"]).toBeLessThan((lines[0]?.["loss/mean"] ?? 0) / 2);
    expect(lines[0]?.["loss/perplexity"]).toBeCloseTo(Math.exp(lines[0]?.["loss/mean"] ?? 0), 6);
    expect(lines.at(-1)?.["progress/epoch"]).toBe(12);
  });
});

describe("validation", () => {
  const rows = pairs(40);
  const validated = (lines: Record<string, number>[]) =>
    lines.filter((line) => "val/loss" in line).map(({ step }) => step);

  it("has the loss that training has on the same rows, before the first step, at the interval and after the last", async () => {
    const source = await folder.write("train.jsonl", rows.slice(0, 6));
    const val = { source, interval: 2, eval_on_start: true };
    const lines = await folder.train({ max_steps: 3, data: { source, batch_size: 6 }, val, optim: { lr: 1e-2 } });
    expect(validated(lines)).toEqual([0, 2, 3]);
    expect(lines[0]?.["val/loss"]).toBeCloseTo(lines[1]?.["loss/mean"] ?? Number.NaN, 4);
    expect(lines[2]?.["val/loss"]).toBeCloseTo(lines[3]?.["loss/mean"] ?? Number.NaN, 4);
    expect(lines[0]?.["val/perplexity"]).toBeCloseTo(Math.exp(lines[0]?.["val/loss"] ?? 0), 6);
    expect(lines[0]?.["val/rows"]).toBe(6);
  });

  it("holds a share out that no seed changes and no step learns", async () => {
    const source = await folder.write("share.jsonl", rows);
    const val = { share: 0.3 };
    const seen = new Set<string>();
    for (const seed of [0, 1]) {
      const found = await batches({ source }, [60, 60], { val, seed });
      for (const text of found.flatMap(texts)) seen.add(text);
    }
    const lines = await folder.train({ max_steps: 1, data: { source, batch_size: 4 }, val });
    expect(seen.size + (lines[0]?.["val/rows"] ?? 0)).toBe(40);
    expect(lines[0]?.["val/rows"]).toBeGreaterThan(3);
    const limited = await folder.train({ max_steps: 1, data: { source, batch_size: 4 }, val: { ...val, limit: 2 } });
    expect(limited[0]?.["val/rows"]).toBe(2);
  });

  it.each([
    [{ source: "a.jsonl" }, {}],
    [{ source: "a.jsonl" }, { share: 0.5, source: "b.jsonl" }],
    [{ source: "a.jsonl" }, { split: "test" }],
    [{ env: { id: "reverse-text" } }, { share: 0.5 }],
  ])("of %j does not take %j", (data, val) => {
    expect(sftConfigSchema.safeParse({ model: { name: "m" }, max_steps: 1, data, val }).success).toBe(false);
  });
});

describe("micro batches", () => {
  it("change no number of a step but by rounding", async () => {
    const source = await folder.write("micro.jsonl", pairs(24));
    const run = async (tokens: number | null) => {
      const data = { source, batch_size: 24, micro_batch_tokens: tokens };
      return folder.train({ max_steps: 3, seq_len: 16, data, optim: { lr: 1e-3 } });
    };
    const [small, large] = [await run(null), await run(4096)];
    for (const name of ["loss/mean", "optim/grad_norm"]) {
      for (const [index, line] of small.entries()) {
        expect(line[name]).toBeCloseTo(large[index]?.[name] ?? Number.NaN, 4);
      }
    }
    expect(
      sftConfigSchema.safeParse({ model: { name: "m" }, max_steps: 1, data: { source, micro_batch_tokens: 5 } })
        .success,
    ).toBe(false);
  });
});

describe("demonstrations of several environments", () => {
  const letters = (alphabet: string) => ({ id: "reverse-text", args: { alphabet, min_len: 6, max_len: 6 } });

  it("take turns by their ratios, each in its own order", async () => {
    const mix = [{ env: letters("abc"), ratio: 2 }, { env: letters("xyz") }];
    const [first, second] = await batches({ mix }, [6, 3]);
    const [alone] = await batches({ env: letters("abc") }, [6]);
    if (!first || !second || !alone) throw new Error("a batch is missing");
    const all = [...texts(first), ...texts(second)];
    const of = (pattern: RegExp) => all.filter((text) => pattern.test(text));
    expect(all.map((text) => (/: [abc]/u.test(text) ? "a" : "x")).join("")).toBe("aaxaaxaax");
    expect(of(/: [abc]/u)).toEqual(texts(alone));
    expect(of(/: [xyz]/u)).toHaveLength(3);
  });

  it("exactly one of env, mix and source is given", () => {
    const parse = (data: object) => sftConfigSchema.safeParse({ model: { name: "m" }, max_steps: 1, data });
    for (const data of [{}, { mix: [] }, { mix: [{ env: letters("ab") }], source: "x.csv" }])
      expect(parse(data).success).toBe(false);
    expect(parse({ mix: [{ env: letters("ab") }] }).success).toBe(true);
  });
});
