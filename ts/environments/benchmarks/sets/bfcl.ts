/** BFCL: calls of functions in one turn, with Python's types (Patil et al., 2025): one call, a choice of functions, several calls, and none. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import type { PinnedData } from "../../../datasets/index.ts";
import { type ExactJson, parseExactJson } from "../../../verify/internal.ts";
import { type AnyBenchmark, type AskContext, defineBenchmark, type Question } from "../benchmark.ts";
import { type Call, type Category, type FunctionType, isAnswer } from "../scoring/bfcl/checker.ts";
import { joinedRows } from "../scoring/bfcl/rows.ts";
import { type FunctionDoc, toolOf } from "../scoring/bfcl/tools.ts";

const message = z.object({ role: z.enum(["system", "user", "assistant"]), content: z.string() });
const parameter = z.looseObject({ type: z.string(), items: z.looseObject({ type: z.string() }).optional() });
const functionDoc = z.looseObject({
  name: z.string(),
  description: z.string(),
  parameters: z.looseObject({ properties: z.record(z.string(), parameter), required: z.array(z.string()) }),
});
const row = z.object({
  category: z.enum(["simple", "simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance"]),
  question: z.array(z.array(message)).length(1),
  function: z.array(functionDoc),
  /** The row with the possible answers, as it is written; null where no call is right. */
  answers: z.string().nullable(),
});
type Row = z.output<typeof row>;

interface Gold {
  /** Null: no call is right. */
  readonly category: Category | null;
  readonly functions: readonly FunctionType[];
  readonly answers: string | null;
}

const FILES = ["simple", "multiple", "parallel", "parallel_multiple", "irrelevance"];

const data: PinnedData = {
  dataset: "gorilla-llm/Berkeley-Function-Calling-Leaderboard",
  split: "test",
  files: FILES.flatMap((name) => [
    `BFCL_v3_${name}.json`,
    ...(name === "irrelevance" ? [] : [`possible_answer/BFCL_v3_${name}.json`]),
  ]),
  revision: "61fc0608cfd831fcfbbaa676ebdfef0ed963eeda",
  rows: 1_240,
  licence: "Apache-2.0",
  sha256: {
    "BFCL_v3_simple.json": "fbc37b2ad252bf9af985582e0e07b456173fe627d957491472ea9cef5fb83158",
    "BFCL_v3_multiple.json": "aef168155ebd74b7ac2401198b201343bc7d16d7a3d7e0d4e6d8ee82c6969b2a",
    "BFCL_v3_parallel.json": "fad375d68295776efb63e5aa331dd884f8635e7bb50e05908113c74f14281c3c",
    "BFCL_v3_parallel_multiple.json": "8863ea8433239f55c5f016154cf0830853c89f693c6ea270396a2fa121960579",
    "BFCL_v3_irrelevance.json": "975f51c51f688649fd190078efd87081241e0a326f9114a2ea3c1ca2440d8690",
    "possible_answer/BFCL_v3_simple.json": "2911a2bc00df82c4f999ffa64fedb0164cb88e96212ffa5972087eb91fd496ee",
    "possible_answer/BFCL_v3_multiple.json": "244e00ce9395df948bcafc7bee64e8f9c87ef70887587d83cae45b13699f3047",
    "possible_answer/BFCL_v3_parallel.json": "3af54bf04e5b7640b03a9b6a82440f52474feb24b398f94435fd2b155c7727de",
    "possible_answer/BFCL_v3_parallel_multiple.json":
      "df4d2c16238c1465dc04697c273cf3ab4a450075fcd274e3dc86ad5bf0049b75",
  },
};

function ask(one: Row, { at }: AskContext<Row>): Question<Gold> {
  const { category: published, question, function: functions, answers } = one;
  const group = published === "simple_python" ? "simple" : published;
  const category = group === "irrelevance" ? null : group;
  if (category !== null && answers === null)
    throw new PrlError("PRL_DATA_ROW", `${at}: there are no possible answers with the id of this question`);
  return {
    prompt: question[0] ?? [],
    gold: { category, functions: category === null ? [] : functions.map(typeOf), answers },
    group,
    tools: functions.map((declared) => toolOf(declared as FunctionDoc)),
  };
}

function typeOf({ name, parameters: { properties, required } }: z.output<typeof functionDoc>): FunctionType {
  const typed = Object.entries(properties).map(([key, { type, items }]) => [
    key,
    { type, ...(items === undefined ? {} : { items: items.type }) },
  ]);
  return { name, required, parameters: Object.fromEntries(typed) as FunctionType["parameters"] };
}

const calls = z.array(z.object({ name: z.string(), arguments: z.string() }));

/** The calls of a reply; null when the arguments of one are no JSON object. */
function readCalls(reply: string): Call[] | null {
  const read: Call[] = [];
  for (const { name, arguments: written } of calls.parse(JSON.parse(reply))) {
    const args = objectOf(written);
    if (args === null) return null;
    read.push({ name, args });
  }
  return read;
}

function objectOf(written: string): Map<string, ExactJson> | null {
  try {
    const value = parseExactJson(written);
    return value instanceof Map ? value : null;
  } catch {
    // The model wrote no JSON: that is a wrong answer, not an error.
    return null;
  }
}

function correct(reply: string, { category, functions, answers }: Gold): boolean {
  const made = readCalls(reply);
  if (category === null) return made === null || made.length === 0;
  if (made === null) return false;
  const expected = parseExactJson(answers ?? "{}");
  const list = expected instanceof Map ? expected.get("ground_truth") : undefined;
  return isAnswer(category, functions, made, Array.isArray(list) ? list : []);
}

export const bfcl: AnyBenchmark = defineBenchmark<Row, Gold>({
  name: "bfcl",
  title: "BFCL",
  summary: "calls of functions in one turn: one, one of several functions, several calls, and no call where none helps",
  paper: "https://gorilla.cs.berkeley.edu/leaderboard.html",
  data,
  readRows: joinedRows,
  row,
  modes: {
    paper: {
      source:
        "bfcl-eval 2026.3.23, native function calling: the functions are tools of the chat API, the calls are compared with the possible answers. The categories of Python in one turn; the leaderboard's number of a category is the mean over its questions, and its total the mean over categories",
      form: "chat",
      ask,
      sampling: { temperature: 0.001, maxCompletionTokens: 4_096 },
      primary: "ast",
    },
  },
  scored: "calls",
  scorers: { ast: correct },
});
