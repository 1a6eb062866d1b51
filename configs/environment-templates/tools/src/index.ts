/** my-env: a question whose facts only a tool knows. Replace the tool, the state behind it and the question with yours. */
import { defineEnvironment, endless, type Message, ofSplit, type Rng, tool, toolUse, z } from "prl-lm/environments";
import { stripThinking, xmlParser } from "prl-lm/environments/verify";

const ITEMS = ["apples", "bread", "candles", "eggs", "flour", "honey", "milk", "pears", "rice", "soap"];
const DEAREST = 900;
const parser = xmlParser(["answer"]);

const config = z.strictObject({
  items: z.int().min(1).max(ITEMS.length).default(3).describe("different things that are bought"),
  turns: z.int().min(1).max(50).default(8).describe("model calls at most"),
});

interface Row {
  prompt: Message[];
  /** Prices by thing; the policy sees them through the tool only. */
  prices: Record<string, number>;
  answer: string;
}

const price = tool({
  description: "The price of one piece of a thing",
  parameters: z.object({ item: z.string().describe("its name, such as apples") }),
  execute: ({ item }, { task }: { task: Row }) => {
    const found = task.prices[item];
    // The policy sees the error and may try again.
    if (found === undefined) throw new Error(`there is no "${item}"; there are ${Object.keys(task.prices).join(", ")}`);
    return String(found);
  },
});

/** The reply behind its thinking; nothing where the thinking never ended, because an answer in it is only considered. */
const answerPart = (reply: string): string =>
  reply.includes("<think>") && !reply.includes("</think>") ? "" : stripThinking(reply, { strict: false });

const answerOf = (reply: string): string | null => parser.parseAnswer(answerPart(reply));

/** Different things, in a random order. */
function someItems(count: number, rng: Rng): string[] {
  const left = [...ITEMS];
  return Array.from({ length: count }, () => left.splice(rng.integer(left.length), 1)[0] ?? "");
}

function* rows(count: number, rng: Rng): Generator<Row> {
  for (;;) {
    const prices = Object.fromEntries(ITEMS.map((item) => [item, 100 + rng.integer(DEAREST)]));
    const bought = someItems(count, rng).map((item) => ({ item, pieces: 2 + rng.integer(30) }));
    const list = bought.map(({ item, pieces }) => `${pieces} ${item}`).join(", ");
    const total = bought.reduce((sum, { item, pieces }) => sum + pieces * (prices[item] ?? 0), 0);
    const content = `How much do these cost together: ${list}? Look the prices up. Give the number in <answer> tags.`;
    yield { prompt: [{ role: "user", content }], prices, answer: String(total) };
  }
}

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["tools", "synthetic"],
  config,
  tasks: ({ config: { items }, rng, split }) => endless(ofSplit(rows(items, rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  rollout: async (context) => toolUse<Row>({ tools: { price }, maxTurns: context.config.turns })(context),
  metrics: { tagged: ({ trace }) => answerOf(trace.lastReply) !== null },
  rewards: { right: ({ task, trace }) => answerOf(trace.lastReply) === task.answer },
  async validate({ task, score }) {
    const said = (answer: number): Promise<number> => score(`Together that is <answer>${answer}</answer>`);
    const [gold, wrong] = [await said(Number(task.answer)), await said(Number(task.answer) + 1)];
    if (gold !== 1 || wrong !== 0) throw new Error(`the total scores ${gold}, one more ${wrong}`);
  },
});
