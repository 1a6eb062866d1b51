import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";

import { jsonRows } from "../../../ts/datasets/json-list.ts";
import { createRng, rows, z } from "../../../ts/environments/index.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/parquet");

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-data-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}

async function all<Row>(stream: AsyncIterable<Row>): Promise<Row[]> {
  const got: Row[] = [];
  for await (const row of stream) got.push(row);
  return got;
}

const QA = z.object({ question: z.string(), answer: z.coerce.number() });
const jsonl = (count: number): string =>
  Array.from({ length: count }, (_, i) => JSON.stringify({ question: `q${i}`, answer: i, more: true })).join("\n");

describe("rows of local files", () => {
  it("are typed by the schema, whatever the format", async () => {
    const text = jsonl(3);
    const csv = "question,answer\nq0,0\nq1,1\nq2,2\n";
    const files = [
      file("a.jsonl", text),
      file("a.jsonl.gz", gzipSync(text)),
      file("a.json", `[\n  ${text.replaceAll("\n", ",\n  ")}\n]\n`),
      file("a.json.gz", gzipSync(`[${text.replaceAll("\n", ",")}]`)),
      file("lines.json", text),
      file("b.csv", csv),
      file("b.tsv", csv.replaceAll(",", "\t")),
      file("b.v1.csv.gz", gzipSync(csv)),
    ];
    for (const path of files) {
      const stream = rows({ file: path }, QA);
      expectTypeOf(stream).toEqualTypeOf<AsyncGenerator<{ question: string; answer: number }>>();
      expect([path, await all(stream)]).toEqual([path, [0, 1, 2].map((i) => ({ question: `q${i}`, answer: i }))]);
    }
    expect(await all(rows({ file: files }, QA, { limit: 7 }))).toHaveLength(7);
  });

  it.each(["snappy", "zstd", "gzip", "brotli", "lz4", "none"])("parquet as pyarrow writes it: %s", async (name) => {
    const expected = JSON.parse(readFileSync(join(FIXTURES, "rows.json"), "utf8")) as object[];
    const path = join(FIXTURES, `${name}.parquet`);
    const got = await all(rows({ file: path }, z.record(z.string(), z.unknown())));
    expect(got).toHaveLength(name === "snappy" ? 300 : 40);
    expect(got.slice(0, 40)).toEqual(expected);
    const [first] = await all(rows({ file: path }, z.object({ count: z.int(), text: z.string() }), { limit: 1 }));
    expect(first).toEqual({ count: 0, text: "zeile 0: äöü 漢字 🙂" });
  });

  it("a missing column is a row that does not fit, a column that was not requested is not there", async () => {
    const path = join(FIXTURES, "none.parquet");
    await expect(all(rows({ file: path }, z.object({ questoin: z.string() })))).rejects.toThrow("questoin");
    const strict = rows({ file: path }, z.strictObject({ count: z.int() }));
    await expect(all(strict)).rejects.toMatchObject({ code: "PRL_DATA_ROW" });
  });

  it("are read as they are asked for, from files of any size", async () => {
    const path = file("big.jsonl", `${jsonl(50_000)}\n`);
    let seen = 0;
    for await (const row of rows({ file: path }, QA)) if (row.answer === seen) seen += 1;
    expect(seen).toBe(50_000);
    expect(await all(rows({ file: path }, QA, { limit: 2 }))).toHaveLength(2);
  });

  it("a list of any size is read row by row", async () => {
    const path = file("big.json", `[${jsonl(50_000).replaceAll("\n", ", ")}]`);
    let seen = 0;
    for await (const row of rows({ file: path }, QA)) if (row.answer === seen) seen += 1;
    expect(seen).toBe(50_000);
  });

  it.each([
    ["[1, 2", "line 1: the list is never closed"],
    ['[{"a": 1},\n]', 'line 2: a row is missing before "]"'],
    ["[,1]", 'line 1: a row is missing before ","'],
    ['[{"a": 1} {"b": 2}]', "line 1: the row is no JSON"],
    ['[\n{"a": 1}, {"a": ]}]', "line 2: the row is no JSON"],
    ["[] []", '"[" is neither in a list'],
    ["12", '"1" is neither in a list'],
    ['{"a": 1}\n{"a": 2', "line 2: the row is never closed"],
  ])("a broken list is an error that names its line: %j", async (text, problem) => {
    const reading = all(rows({ file: file("bad.json", text) }, z.unknown()));
    await expect(reading).rejects.toMatchObject({
      code: "PRL_DATA_FORMAT",
      message: expect.stringContaining(`bad.json, ${problem.startsWith("line") ? problem : ""}`) as string,
    });
    await expect(all(rows({ file: file("bad.json", text) }, z.unknown()))).rejects.toThrow(problem);
  });

  it("a list is what JSON.parse makes of it, wherever its text is cut", async () => {
    const value = fc.jsonValue().filter((one) => !Object.is(one, -0));
    await fc.assert(
      fc.asyncProperty(fc.array(value), fc.integer({ min: 1, max: 9 }), fc.boolean(), async (list, size, isPretty) => {
        const text = JSON.stringify(list, null, isPretty ? 2 : undefined);
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
          text.slice(i * size, (i + 1) * size),
        );
        expect((await all(jsonRows(pieces))).map(({ row }) => row)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("a shuffle is of the seed, keeps every row, and reaches as far as its buffer", async () => {
    const path = file("a.jsonl", jsonl(200));
    const order = async (seed: number, shuffleBuffer?: number) => {
      const options = shuffleBuffer === undefined ? {} : { shuffleBuffer };
      return (await all(rows({ file: path }, QA, { shuffle: createRng(seed), ...options }))).map((row) => row.answer);
    };
    const first = await order(1);
    expect(await order(1)).toEqual(first);
    expect(await order(2)).not.toEqual(first);
    const sorted = (numbers: number[]) => numbers.toSorted((a, b) => a - b);
    expect(sorted(first)).toEqual(Array.from({ length: 200 }, (_, i) => i));
    const near = await order(1, 10);
    expect(sorted(near)).toEqual(sorted(first));
    expect(near.every((answer, place) => answer <= place + 10)).toBe(true);
    expect(await order(1, 1)).toEqual(sorted(first));
  });

  it("a shuffle within the buffer makes every order equally likely", async () => {
    const path = file("a.jsonl", jsonl(3));
    const seen: Record<string, number> = {};
    for (let seed = 0; seed < 1200; seed++) {
      const order = (await all(rows({ file: path }, QA, { shuffle: createRng(seed) })))
        .map(({ answer }) => answer)
        .join("");
      seen[order] = (seen[order] ?? 0) + 1;
    }
    expect(Object.keys(seen)).toHaveLength(6);
    // 200 expected of each, and the seeds are fixed: seven standard deviations.
    for (const count of Object.values(seen)) expect(Math.abs(count - 200)).toBeLessThan(90);
  });

  it("data without splits can be split by content", async () => {
    const path = file("a.jsonl", jsonl(400));
    const of = async (use: "train" | "eval" | "demonstrations") => await all(rows({ file: path }, QA, { use }));
    const parts = [await of("train"), await of("eval"), await of("demonstrations")];
    expect(parts.flat()).toHaveLength(400);
    expect(new Set(parts.flat().map(({ question }) => question)).size).toBe(400);
    expect(parts[1]?.length).toBeGreaterThan(20);
  });

  it.each<[string, string, string, string]>([
    ["absent.jsonl", "", "PRL_DATA_FILE", "cannot be read"],
    ["a.xlsx", "x", "PRL_DATA_FILE", "use .parquet, .jsonl"],
    ["a.jsonl", '{"question": "q", "answer": 1}\n{"question": ', "PRL_DATA_FORMAT", "a.jsonl:2 is no JSON"],
    ["b.jsonl", '\n\n{"question": 1, "answer": 1}\n', "PRL_DATA_ROW", "b.jsonl:3 does not fit"],
    ["c.csv", 'question,answer\n"q,1\n', "PRL_DATA_FORMAT", "c.csv, line 2: a quote is never closed"],
    ["d.csv", "question,answer\nq,many\n", "PRL_DATA_ROW", "d.csv:2 does not fit"],
    ["e.csv.gz", "no gzip", "PRL_DATA_FORMAT", "no whole gzip file"],
    ["f.jsonl", "\u0000\xff", "PRL_DATA_FORMAT", "f.jsonl"],
    ["g.parquet", "PAR1 and nothing else", "PRL_DATA_FORMAT", "cannot be read as parquet"],
    ["h.parquet", "", "PRL_DATA_FORMAT", "cannot be read as parquet"],
  ])("%s: %j is %s", async (name, content, code, message) => {
    const path = name.startsWith("absent") ? join(dir, name) : file(name, Buffer.from(content, "latin1"));
    const error: unknown = await all(rows({ file: path }, QA)).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(message);
  });
});
