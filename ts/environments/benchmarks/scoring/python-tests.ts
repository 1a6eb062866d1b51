/**
 * Runs a Python program with its tests in a sandbox: it passes when the tests reach their end.
 *
 * Tests travel packed in a task, because the record of every rollout holds its task. A sandbox that failed, or that lacks a module which the
 * tests need, is an error and never a wrong answer.
 */
import { randomBytes } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";

import { PrlError } from "../../../errors.ts";
import { extractCode, stripThinking } from "../../../verify/index.ts";
import type { ScoringContext } from "../benchmark.ts";
import { HARNESS, HARNESS_FILE, PROGRAM_FILE } from "./python-tests-harness.ts";

/** Time of one program with all of its tests. Graders of the authors give each test a second or more. */
const CPU_MS = 30_000;
const WALL_MS = 2 * CPU_MS + 1_000;
const MEMORY_BYTES = 4 * 1024 ** 3;
const QUEUE_MS = 120_000;
const WORD_BYTES = 16;

export function packed(text: string): string {
  return gzipSync(text).toString("base64");
}

export function unpacked(text: string): string {
  return gunzipSync(Buffer.from(text, "base64")).toString("utf8");
}

/** The program of a chat reply: its last fenced block, without one the whole reply. */
export function repliedProgram(reply: string): string {
  const text = stripThinking(reply, { strict: false });
  return extractCode(text, "python") ?? text;
}

/** Names that a text defines at its top level: what published tests call of a program has the names of its reference. */
export function definedNames(source: string): string[] {
  return [...source.matchAll(/^(?:async[ \t]+def|def|class)[ \t]+(\w+)/gmu)].map(([, name = ""]) => name);
}

export interface PythonTests {
  readonly source: string;
  /** Functions and classes of the program that the tests use; absent in tasks that an earlier version has recorded. */
  readonly names?: readonly string[] | undefined;
}

/**
 * Whether the program gives the tests what they ask of it. Errors: PRL_SANDBOX_INFRA, PRL_VERIFY_UNSUPPORTED when the sandbox's Python lacks what
 * the tests import, when they give the program a value that cannot be sent to it, or when the task does not say what they use.
 */
export async function passesTests(
  program: string,
  tests: PythonTests,
  { sandboxes, signal }: ScoringContext,
): Promise<boolean> {
  if (tests.names === undefined)
    throw new PrlError(
      "PRL_VERIFY_UNSUPPORTED",
      "the task was recorded by an earlier version of prl, whose tests ran in the process of the program: evaluate the model again",
    );
  const word = randomBytes(WORD_BYTES).toString("hex");
  const pool = await sandboxes();
  const run = await pool.runOnce({
    command: ["python3", HARNESS_FILE],
    files: { [PROGRAM_FILE]: program, [HARNESS_FILE]: HARNESS },
    stdin: JSON.stringify({ word, tests: tests.source, names: tests.names }),
    limits: { cpuMs: CPU_MS, wallMs: WALL_MS, memoryBytes: MEMORY_BYTES },
    queueMs: QUEUE_MS,
    signal,
  });
  signal.throwIfAborted();
  if (run.cause === "INFRA" || run.cause === "CANCELLED")
    throw new PrlError("PRL_SANDBOX_INFRA", `the program could not be run: ${run.reason} ${run.detail ?? ""}`);
  const [last = ""] = run.stdout.toString("utf8").trimEnd().split("\n").slice(-1);
  // A program that ends its tests' process early leaves no verdict.
  if (run.cause !== "EXITED" || run.exitCode !== 0 || !last.startsWith(`${word} `)) return false;
  const [verdict, what = ""] = last.slice(word.length + 1).split(" ", 2);
  if (verdict === "lacks") {
    const message = `the tests need ${what}, which the Python of the sandbox does not have: install it there, or use an image that has it`;
    throw new PrlError("PRL_VERIFY_UNSUPPORTED", message);
  }
  if (verdict === "unsupported")
    throw new PrlError("PRL_VERIFY_UNSUPPORTED", `the tests give the program a ${what}, which cannot be sent to it`);
  return verdict === "passed";
}
