/** Files of data that users and datasets bring. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { deflateSync, gzipSync } from "node:zlib";

import { csvRecords } from "../../../ts/datasets/csv.ts";
import { fileRows } from "../../../ts/datasets/files.ts";
import { testsOfRow } from "../../../ts/environments/benchmarks/scoring/live-code-bench/tests-of-row.ts";
import { sftRowSchema } from "../../../ts/trainer/sft/sft-rows.ts";
import { holds, type Target, textOf } from "../engine/target.ts";
import { fileOf, folderOf } from "./place.ts";

const FIXTURES = resolve(import.meta.dirname, "../../fixtures/parquet");
/** Rows of a small file: a reader that gives many more has no bound. */
const MOST_ROWS = 1_000_000;
const folder = folderOf("data");
const JSON_WORDS = [
  '"',
  ":",
  ",",
  "{",
  "}",
  "[",
  "]",
  "\n",
  "\r\n",
  "null",
  "1e999",
  '"__proto__":',
  "\\ud800",
  "\ufeff",
];

async function rowsOf(name: string, input: Uint8Array): Promise<void> {
  let count = 0;
  for await (const { row } of fileRows(fileOf(folder, name, input), null)) {
    JSON.stringify(row);
    count += 1;
    holds(count <= MOST_ROWS, `a file of ${input.length} bytes has more than ${MOST_ROWS} rows`);
  }
}

async function recordsOf(pieces: readonly string[]): Promise<string> {
  const records: unknown[] = [];
  for await (const { fields, line } of csvRecords(pieces)) records.push([line, fields]);
  return JSON.stringify(records);
}

/** Parquet files of each compression, and of none. */
function parquetFiles(): Buffer[] {
  const files = readdirSync(FIXTURES).filter((name) => name.endsWith(".parquet"));
  return files.toSorted().map((name) => readFileSync(join(FIXTURES, name)));
}

const TESTS = '[{"input":"1\\n","output":"2\\n","testtype":"stdin"}]';
const PICKLE = Buffer.concat([
  Buffer.from([0x80, 4, 0x8c, TESTS.length]),
  Buffer.from(TESTS),
  Buffer.from([0x94, 0x2e]),
]);

export const DATA_TARGETS: readonly Target[] = [
  {
    name: "data-jsonl",
    starts: ['{"a":1}\n\n{"b":[true,null]}\r\n"text"'],
    words: JSON_WORDS,
    read: (input) => rowsOf("rows.jsonl", input),
  },
  {
    name: "data-json",
    starts: ['[{"a":1},\n {"b":"]\\""}, 3 ]', '{"a":1}\n{"b":2}'],
    words: JSON_WORDS,
    read: (input) => rowsOf("rows.json", input),
  },
  {
    name: "data-csv",
    starts: ['a,b\n1,"two, ""2""\nlines"\r\n3,4\n', "\ufeffa\n\n1\n"],
    words: ['"', ",", "\n", "\r\n", '""', '"\n', ",,", "\ufeff", "\t", "__proto__"],
    async read(input) {
      const text = textOf(input);
      const [whole, cut] = await Promise.allSettled([recordsOf([text]), recordsOf(Array.from(text))]);
      holds(whole.status === cut.status, "whether a table is read depends on where it is cut");
      if (whole.status === "fulfilled" && cut.status === "fulfilled")
        holds(whole.value === cut.value, "the records depend on where the text is cut");
      await rowsOf("rows.csv", input);
    },
    mostBytes: 16_384,
  },
  {
    name: "data-gzip",
    starts: [gzipSync('{"a":1}\n{"b":2}\n'), gzipSync(Buffer.alloc(100_000, " "))],
    words: ["\u001f\u008b\b", "\0\0\0\0"],
    read: (input) => rowsOf("rows.jsonl.gz", input),
  },
  {
    name: "data-parquet",
    starts: parquetFiles(),
    words: ["PAR1", "\0\0\0\0", "\u0015\u0000", "\u007f"],
    inputs: 60,
    read: (input) => rowsOf("rows.parquet", input),
  },
  {
    name: "sft-rows",
    starts: [
      '{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}],"tools":"[{}]"}',
      '{"prompt":"a","completion":[{"role":"assistant","content":"b"}]}',
    ],
    words: [
      ...JSON_WORDS,
      '"role":"tool"',
      '"content":',
      '"tool_calls":[',
      '"arguments":',
      '"prompt":',
      '"completion":',
      '"messages":',
    ],
    read(input) {
      let row: unknown;
      try {
        row = JSON.parse(textOf(input));
      } catch {
        return;
      }
      const parsed = sftRowSchema.safeParse(row);
      if (!parsed.success || !("messages" in parsed.data)) return;
      const { messages, learntFrom } = parsed.data;
      holds(learntFrom <= messages.length, "more messages are only read than there are");
      for (const { content } of messages) holds(typeof content === "string", "a content is no text");
    },
  },
  {
    name: "packed-tests",
    starts: [TESTS, deflateSync(PICKLE).toString("base64"), deflateSync(Buffer.alloc(1 << 20)).toString("base64")],
    words: [...JSON_WORDS, '"input":', '"testtype":"functional"', "=", "eJ"],
    read: (input) => testsOfRow({ public_test_cases: "[]", private_test_cases: textOf(input) }, "row 1"),
  },
];
