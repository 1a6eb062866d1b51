/** my-env: an agent program works in a sandbox; the files that it leaves are checked. Replace the program and the chore with yours. */
import { readFileSync } from "node:fs";

import { agent, defineEnvironment, endless, ofSplit, type Rng, z } from "prl-lm/environments";
import { type Box, requireRun } from "prl-lm/sandbox";

/** Any program that speaks to a model may stand here. `src` and `dist` are equally deep in the package. */
const AGENT = readFileSync(new URL("../agent/agent.py", import.meta.url), "utf8");
const PROGRAM = "/tmp/agent.py";
const NUMBERS = "numbers.txt";
const RESULT = "answer.txt";
const LONGEST = 100;

const config = z.strictObject({
  numbers: z.int().min(1).max(1000).default(20).describe("lines of the file"),
  turns: z.int().min(1).max(50).default(6).describe("model calls at most"),
});
type Config = z.output<typeof config>;

interface Row {
  prompt: string;
  files: Record<string, string>;
  answer: string;
}

function* rows(count: number, rng: Rng): Generator<Row> {
  for (;;) {
    const divisor = 2 + rng.integer(6);
    const numbers = Array.from({ length: count }, () => rng.integer(10_000));
    const sum = numbers.filter((value) => value % divisor === 0).reduce((total, value) => total + value, 0);
    const prompt = `${NUMBERS} has one number in each line. Write the sum of those that ${divisor} divides to ${RESULT}.`;
    yield { prompt, files: { [NUMBERS]: numbers.map((value) => `${value}\n`).join("") }, answer: String(sum) };
  }
}

/** What stands in the file that the agent should have written; null without it. A link could lead anywhere, so only files are read. */
async function resultIn(box: Box): Promise<string | null> {
  const { exitCode, stdout } = requireRun(
    await box.exec(["sh", "-c", `test -f ${RESULT} && ! test -L ${RESULT} && head -c ${LONGEST} ${RESULT}`]),
  );
  return exitCode === 0 ? stdout.toString("utf8").trim() : null;
}

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["agent", "sandbox", "synthetic"],
  config,
  tasks: ({ config: { numbers }, rng, split }) => endless(ofSplit(rows(numbers, rng), split, ({ files }) => files)),
  key: (_, index) => String(index),
  contentKey: ({ prompt, files }) => JSON.stringify([prompt, files]),
  rollout: agent<Row, Config>({
    command: ["python3", PROGRAM],
    files: ({ files }) => ({ ...files, [PROGRAM]: AGENT }),
    maxTurns: ({ turns }) => turns,
    timeoutMs: 300_000,
  }),
  rewards: { done: async ({ task, sandbox }) => (await resultIn(await sandbox())) === task.answer },
  async validate({ task, sandbox }) {
    const box = await sandbox();
    for (const [path, content] of Object.entries(task.files)) await box.write(path, content);
    if ((await resultIn(box)) === task.answer) throw new Error("the chore is done before it is begun");
    const divisor = /that (\d+) divides/.exec(task.prompt)?.[1] ?? "0";
    const solution = `awk '$1 % ${divisor} == 0 { sum += $1 } END { print sum + 0 }' ${NUMBERS} > ${RESULT}`;
    requireRun(await box.exec(["sh", "-c", solution]));
    const left = await resultIn(box);
    if (left !== task.answer) throw new Error(`the solution leaves ${left}, the answer is ${task.answer}`);
  },
});
