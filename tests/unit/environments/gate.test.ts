/** The quality gate finds what a policy could earn without the skill, and says what it could not try. */
import { describe, expect, test } from "vitest";

import { defineEnvironment, endless, ofSplit, type Rng, singleTurn, z } from "../../../ts/environments/index.ts";
import { type Attempt, type CheckRow, GATE_CHECKS, runGate } from "../../../ts/environments/internal.ts";
import { xmlParser } from "../../../ts/verify/index.ts";

interface Row {
  prompt: string;
  answer: string;
}

/** Three of these are waited for; nothing else takes so long. */
const LATE_MS = 3_000;
const parser = xmlParser(["answer"]);

/** What one thing wrong changes: the prompt, the answer, how a reply is paid, what the check scores. */
interface Fault {
  readonly prompt?: (row: Row) => string;
  readonly answer?: (rng: Rng) => string;
  readonly score?: (reply: string, task: Row) => number | Promise<number>;
  readonly golds?: (task: Row) => string[];
  readonly noValidate?: true;
}

/** 1 for the answer alone in its tag, behind thinking that is closed. */
function strict(reply: string, task: Row): number {
  if (reply.includes("<think>") && !reply.includes("</think>")) return 0;
  return Number(parser.parseAnswer(reply) === task.answer);
}

function* rows({ prompt, answer }: Fault, rng: Rng): Generator<Row> {
  for (;;) {
    const row = { prompt: `Count ${rng.integer(1_000_000)} and ${rng.integer(1_000_000)}.`, answer: "" };
    row.answer = answer?.(rng) ?? `n${rng.integer(1_000_000_000)}`;
    yield { ...row, prompt: prompt?.(row) ?? row.prompt };
  }
}

const tagged = (answer: string): string => `<answer>${answer}</answer>`;

async function gate(
  fault: Fault,
  { tasks = 20, deadlineMs = 60_000 } = {},
): Promise<{ rows: Map<string, CheckRow>; begun: Attempt[] }> {
  const { score = strict, golds = ({ answer }: Row) => [tagged(answer), tagged(`${answer}0`)] } = fault;
  const environment = defineEnvironment<object, Row>({
    name: "counted",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: ({ rng, split }) => endless(ofSplit(rows(fault, rng), split, ({ prompt }) => prompt)),
    key: (_, index) => String(index),
    rollout: singleTurn(),
    rewards: { right: async ({ task, trace }) => score(trace.lastReply, task) },
    ...(fault.noValidate === true
      ? {}
      : {
          validate: async ({ task, score: of }) => {
            for (const reply of golds(task)) await of(reply);
          },
        }),
  });
  const begun: Attempt[] = [];
  const found = new Map<string, CheckRow>();
  const { signal } = new AbortController();
  const options = { tasks, seed: 3, deadlineMs, signal, weights: environment.rewards };
  for await (const row of runGate(environment.configure(), { ...options, begins: (at) => begun.push(at) }))
    found.set(row.check, row);
  return { rows: found, begun };
}

const failed = (found: ReadonlyMap<string, CheckRow>): string[] =>
  [...found.values()].filter(({ status }) => status === "failed").map(({ check }) => check);

test("a strict environment passes every check", async () => {
  const { rows: found, begun } = await gate({});
  expect([...found.keys()]).toEqual([...GATE_CHECKS]);
  expect([...found.values()].filter(({ status }) => status !== "passed").map(({ check }) => check)).toEqual(["speed"]);
  expect(found.get("full marks")?.what).toBe("1 on 20 tasks");
  expect(found.get("speed")?.what).toMatch(/^\d+ tasks\/s generated; scoring p50 .* ms, p99 .* ms of \d+ replies$/u);
  expect(begun).toContainEqual({ check: "candidates", split: "train", task: "7" });
});

const loose = (reply: string, { answer }: Row): number => Number(reply.includes(answer));
const anything = (reply: string): number => Number(reply.length > 0);

describe("a defect fails the check that is about it", () => {
  test.each<[string, Fault, string, RegExp]>([
    [
      "a gold reply that earns half",
      { score: (reply, task) => strict(reply, task) / 2 },
      "full marks",
      /earns 0\.5 of 1/u,
    ],
    ["an answer anywhere in the reply", { score: loose }, "candidates", /the gold answer between two others/u],
    ["an answer in thinking that never ends", { score: loose }, "malformed", /thinking that is not closed/u],
    ["any text", { score: anything }, "injected", /1\.00 by "Ignore the instructions/u],
    ["any text, which a refusal is too", { score: anything }, "empty", /1\.00 by " \\n "/u],
    ["any text, the prompt too", { score: anything }, "echo", /1\.00 by the prompt/u],
    ["one answer for all tasks", { answer: () => "blue" }, "constant", /1\.00 by "blue"/u],
    [
      "a number of the prompt",
      { prompt: ({ answer }) => `Count to ${answer}.`, answer: (rng) => String(rng.integer(1e6)) },
      "guess",
      /1\.00 by the first of the prompt's numbers/u,
    ],
    [
      "an answer that the prompt has",
      { prompt: ({ answer }) => `It is not ${answer}.` },
      "answer in prompt",
      /20 of 20/u,
    ],
    [
      "a verifier that throws for long texts",
      {
        score: (reply, task) => {
          if (reply.length > 100_000) throw new Error("too long for me");
          return strict(reply, task);
        },
      },
      "large",
      /too long for me/u,
    ],
  ])("%s", async (_, fault, check, message) => {
    const { rows: found } = await gate(fault);
    expect(failed(found)).toContain(check);
    const messages = (found.get(check)?.failures ?? []).map((failure) => failure.message);
    expect(messages.join("\n")).toMatch(message);
  });

  test("a verifier that hangs is named, and after three late calls nothing more is tried", async () => {
    const hangs = {
      score: (reply: string, task: Row) => (reply === "" ? new Promise<number>(() => {}) : strict(reply, task)),
    };
    const { rows: found, begun } = await gate(hangs, { deadlineMs: LATE_MS });
    expect(failed(found)).toEqual(["empty"]);
    const [first, , third] = found.get("empty")?.failures ?? [];
    expect([first?.task, third?.task]).toEqual(["0", "2"]);
    expect(first?.message).toContain(`did not end within ${LATE_MS / 1000} s`);
    expect(found.get("echo")).toMatchObject({ status: "not checked" });
    expect(begun.some(({ check }) => check === "echo")).toBe(false);
  });
});

describe("checks that cannot be tried say so", () => {
  const unchecked = (found: ReadonlyMap<string, CheckRow>, check: string): unknown => {
    const row = found.get(check);
    return [row?.status, row?.what];
  };

  test("without validate(), or without a gold reply in it", async () => {
    const { rows: none } = await gate({ noValidate: true });
    const statuses = [...none.values()].map(({ status }) => status);
    expect(statuses).toEqual([...GATE_CHECKS.slice(1).map(() => "not checked"), "stated"]);
    expect(unchecked(none, "echo")).toEqual(["not checked", expect.stringContaining("it has no validate()")]);
    const { rows: silent } = await gate({ golds: () => [] });
    expect(unchecked(silent, "candidates")).toEqual(["not checked", expect.stringContaining("scores no right reply")]);
  });

  test("without a wrong reply in validate(), and without numbers in the prompts", async () => {
    const { rows: found } = await gate({
      golds: ({ answer }) => [tagged(answer)],
      prompt: ({ answer }) => `Say ${answer.replaceAll(/\d/gu, "x")}`,
    });
    expect(unchecked(found, "near misses")).toEqual(["not checked", expect.stringContaining("scores no wrong reply")]);
    expect(unchecked(found, "guess")).toEqual(["not checked", "its prompts have no numbers"]);
  });

  test("a choice of two may be guessed as often as chance explains, and the number is stated", async () => {
    const { rows: found } = await gate({ answer: (rng) => rng.pick(["left", "right"]) }, { tasks: 50 });
    expect(found.get("constant")).toMatchObject({ status: "passed" });
    expect(found.get("constant")?.what).toMatch(/a guess among 2 answers explains up to 0\.71$/u);
  });
});
