/** terminal: an agent program with a shell does a small chore with files; the files in its sandbox are then checked. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { type Box, requireRun } from "../../../sandbox/index.ts";
import { agent } from "../../conversation/agent.ts";
import { defineEnvironment } from "../../model/environment.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { AGENT_PROGRAM } from "./agent-program.ts";
import { CHORES, makeChore } from "./chores.ts";

const config = z.strictObject({
  chores: z
    .array(z.enum(CHORES))
    .min(1)
    .default([...CHORES])
    .describe("kinds of chores, equally often"),
  files: z.int().min(1).max(50).default(4).describe("files that a chore is about"),
  max_turns: z.int().min(1).default(8).describe("model calls at most"),
  command_s: z.number().positive().default(10).describe("longest that one command may take, in seconds"),
});
type Config = z.output<typeof config>;

interface Row {
  /** The request to the agent. */
  prompt: string;
  chore: string;
  files: Record<string, string>;
  /** Content by path at the end; null: the file is gone. */
  expected: Record<string, string | null>;
  /** A gold answer, for `sh`. */
  solution: string;
}

const SYSTEM =
  "You work in a shell, in a directory of your own. Use the tool run until the task is done, then say so without calling it.";
/** Folders that are not listed with the work directory. */
const PROGRAM = "/tmp/agent.py";
const TIMEOUT_MS = 300_000;

export default defineEnvironment({
  name: "terminal",
  version: "1.0.0",
  tags: ["agent", "sandbox", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) =>
    endless(ofSplit(rows(args, rng), split, ({ prompt, files }) => [prompt, files])),
  key: (_, index) => String(index),
  contentKey: ({ prompt, files }) => JSON.stringify([prompt, files]),
  rollout: agent<Row, Config>({
    command: ["python3", PROGRAM],
    files: ({ files }) => ({ ...files, [PROGRAM]: AGENT_PROGRAM }),
    env: (_, { config: { command_s } }) => ({ SYSTEM_PROMPT: SYSTEM, COMMAND_SECONDS: String(command_s) }),
    maxTurns: ({ max_turns }) => max_turns,
    timeoutMs: TIMEOUT_MS,
  }),
  metrics: {
    // The share of the relevant paths with the right content.
    progress: async ({ task, sandbox }) => doneShare(await sandbox(), task.expected),
  },
  rewards: {
    solved: reward(1, async ({ task, sandbox }) => (await doneShare(await sandbox(), task.expected)) === 1),
  },
  async validate({ task, sandbox }) {
    const box = await sandbox();
    for (const [path, content] of Object.entries(task.files)) await box.write(path, content);
    if ((await doneShare(box, task.expected)) === 1) throw new Error(`"${task.chore}" is done before it is begun`);
    const { exitCode, stderr } = requireRun(await box.exec(["sh", "-c", task.solution]));
    const share = await doneShare(box, task.expected);
    if (exitCode !== 0 || share !== 1)
      throw new Error(`the solution of "${task.chore}" ends with ${exitCode} and does ${share}: ${stderr.toString()}`);
  },
});

async function doneShare(box: Box, expected: Row["expected"]): Promise<number> {
  const paths = Object.entries(expected);
  const done = await Promise.all(paths.map(async ([path, content]) => (await contentOf(box, path)) === content));
  return done.filter(Boolean).length / paths.length;
}

/** Null when there is no such file; white space at the end does not count, so that `printf` and `echo` are equal. */
async function contentOf(box: Box, path: string): Promise<string | null> {
  try {
    const { kind } = await box.stat(path);
    // Reading a link or a pipe could wait for the program, so only files are read.
    if (kind !== "file") return "";
    return `${(await box.read(path)).toString("utf8").trimEnd()}\n`;
  } catch (error) {
    if (error instanceof PrlError && error.code === "PRL_SANDBOX_FILE_UNKNOWN") return null;
    if (error instanceof PrlError && error.code === "PRL_SANDBOX_TOO_LARGE") return "";
    throw error;
  }
}

function* rows({ chores, files: count }: Config, rng: Rng): Generator<Row> {
  for (;;) {
    const chore = rng.pick(chores);
    const { ask, files, expected, solution } = makeChore(chore, rng, count);
    yield { prompt: ask, chore, files, expected, solution };
  }
}
