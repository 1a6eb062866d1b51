/** my-env: a number is to be found by guessing; the environment says higher or lower. Replace the game with yours. */
import {
  defineEnvironment,
  endless,
  type Message,
  multiTurn,
  ofSplit,
  type Rng,
  type Trace,
  z,
} from "prl-lm/environments";

const config = z.strictObject({
  width: z.int().min(3).max(10_000).default(100).describe("how many numbers there are to choose from"),
  turns: z.int().min(1).max(50).default(10).describe("guesses at most"),
});

interface Row {
  prompt: Message[];
  lowest: number;
  highest: number;
  /** The policy never sees it. */
  secret: number;
}

/** The number of a reply that is nothing else; null for all other replies, so that a list of numbers is no guess. */
function guessOf(reply: string): number | null {
  const text = reply.trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** What the environment says to a reply; null ends the rollout. */
function answerTo(reply: string, { lowest, highest, secret }: Row): string | null {
  const guess = guessOf(reply);
  if (guess === secret) return null;
  if (guess === null || guess < lowest || guess > highest) return `Say one number from ${lowest} to ${highest}.`;
  return guess < secret ? "higher" : "lower";
}

function* rows(width: number, rng: Rng): Generator<Row> {
  for (;;) {
    const lowest = 1000 + rng.integer(100_000);
    const highest = lowest + width - 1;
    // Neither of the two numbers that the prompt names.
    const secret = lowest + 1 + rng.integer(width - 2);
    const content = `Find my number, from ${lowest} to ${highest}. Say one number and nothing else; I answer higher or lower.`;
    yield { prompt: [{ role: "user", content }], lowest, highest, secret };
  }
}

/** A game that halves the rest each time: the gold answer of the check below. */
export function halvingGame(task: Row): Message[] {
  const messages = [...task.prompt];
  let [lowest, highest] = [task.lowest, task.highest];
  for (;;) {
    const guess = Math.floor((lowest + highest) / 2);
    messages.push({ role: "assistant", content: String(guess) });
    const answer = answerTo(String(guess), task);
    if (answer === null) return messages;
    messages.push({ role: "user", content: answer });
    if (answer === "higher") lowest = guess + 1;
    else highest = guess - 1;
  }
}

const isFound = ({ trace, task }: { trace: Trace; task: Row }): boolean => guessOf(trace.lastReply) === task.secret;

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["game", "synthetic"],
  config,
  tasks: ({ config: { width }, rng, split }) => endless(ofSplit(rows(width, rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  // The prompt does not say which number it is, so the same prompt with another number is another task.
  contentKey: ({ prompt, secret }) => JSON.stringify([prompt, secret]),
  rollout: async (context) =>
    multiTurn<Row>({
      maxTurns: context.config.turns,
      respond: (trace, task) => answerTo(trace.lastReply, task),
    })(context),
  metrics: { turns: ({ trace }) => trace.turns },
  rewards: { found: isFound },
  async validate({ task, scoreMessages }) {
    const gold = halvingGame(task);
    const other = String(task.secret === task.lowest ? task.highest : task.lowest);
    const wrong = [...gold.slice(0, -1), { role: "assistant" as const, content: other }];
    const [right, lost] = [await scoreMessages(gold), await scoreMessages(wrong)];
    if (right !== 1 || lost !== 0) throw new Error(`a game that is won scores ${right}, one that is lost ${lost}`);
  },
});
