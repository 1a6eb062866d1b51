/** my-env: a task with many right answers; right ones earn more when no other rollout of the group has the same. Replace it with yours. */
import {
  defineEnvironment,
  endless,
  groupReward,
  type Message,
  ofSplit,
  reward,
  type Rng,
  singleTurn,
  z,
} from "prl-lm/environments";

const config = z.strictObject({
  width: z.int().min(20).default(1000).describe("how many numbers there are to choose from"),
});

interface Row {
  prompt: Message[];
  lowest: number;
  highest: number;
  divisor: number;
}

/** The number of a reply that is nothing else, when it is right; else null. */
function rightNumber(reply: string, { lowest, highest, divisor }: Row): number | null {
  const text = reply.trim();
  if (!/^\d{1,9}$/.test(text)) return null;
  const number = Number(text);
  return number >= lowest && number <= highest && number % divisor === 0 ? number : null;
}

function* rows(width: number, rng: Rng): Generator<Row> {
  for (;;) {
    const [lowest, divisor] = [1000 + rng.integer(1_000_000), 7 + rng.integer(13)];
    const highest = lowest + width - 1;
    const content = `Name a number from ${lowest} to ${highest} that ${divisor} divides. Say the number and nothing else.`;
    yield { prompt: [{ role: "user", content }], lowest, highest, divisor };
  }
}

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["group", "synthetic"],
  config,
  tasks: ({ config: { width }, rng, split }) => endless(ofSplit(rows(width, rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  rewards: {
    right: reward(0.8, ({ task, trace }) => rightNumber(trace.lastReply, task) !== null),
    // One value for each trace, after all rollouts of the group have ended; those that failed are not among them.
    different: groupReward(0.2, ({ task, traces }) => {
      const numbers = traces.map(({ lastReply }) => rightNumber(lastReply, task));
      return numbers.map((number) => number !== null && numbers.filter((other) => other === number).length === 1);
    }),
  },
  async validate({ task, score }) {
    const gold = (Math.floor(task.lowest / task.divisor) + 1) * task.divisor;
    // A group of one: nothing else has the same answer.
    const [right, wrong] = [await score(String(gold)), await score(String(gold + 1))];
    if (right !== 1 || wrong !== 0) throw new Error(`a right number scores ${right}, the next one ${wrong}`);
  },
});
