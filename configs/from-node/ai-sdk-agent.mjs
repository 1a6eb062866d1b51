// An agent of the AI SDK in the process of the environment: its loop, its tools and its prompts stay as they are, every model call becomes
// a turn of the rollout. Install what it imports where this file lies: npm install ai @ai-sdk/openai-compatible zod
// Then: prl rl rl.toml, with env = { path = "./ai-sdk-agent.mjs" } for its source.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, tool } from "ai";
import { defineEnvironment, endless, InterceptionServer, ofSplit, z } from "prl-lm/environments";

const server = await InterceptionServer.start();
const stock = new Map([
  ["apples", 3],
  ["pears", 5],
  ["plums", 8],
]);
const tools = {
  count: tool({
    description: "How many pieces of a fruit are in stock",
    inputSchema: z.object({ fruit: z.string() }),
    execute: ({ fruit }) => String(stock.get(fruit) ?? "unknown fruit"),
  }),
};

function* questions(rng) {
  const fruits = [...stock.keys()];
  for (;;) {
    const [a, b, extra] = [rng.pick(fruits), rng.pick(fruits), rng.integer(50)];
    const answer = stock.get(a) + stock.get(b) + extra;
    yield { question: `How many are all ${a}, all ${b} and ${extra} more? End with the number.`, answer };
  }
}

export default defineEnvironment({
  name: "fruit-stock",
  version: "1.0.0",
  config: z.strictObject({}),
  tasks: ({ rng, split }) => endless(ofSplit(questions(rng), split, ({ question }) => question)),
  async rollout({ task, signal, ...context }) {
    const { session, close } = server.open({ ...context, signal, maxTurns: 4 });
    try {
      const provider = createOpenAICompatible({ name: "policy", baseURL: `${server.url}/v1`, apiKey: session.key });
      const options = { model: provider("policy"), tools, prompt: task.question, abortSignal: signal, maxRetries: 0 };
      await generateText({ ...options, stopWhen: stepCountIs(4) });
    } catch (error) {
      // A limit is an end of the rollout. What the model's side failed with is thrown as it is, so that it may be tried again.
      if (session.stopCondition === null) throw session.failure ?? error;
    } finally {
      close();
      await session.settled();
    }
    return session.stopCondition === null ? {} : { stopCondition: session.stopCondition };
  },
  rewards: { correct: ({ task, trace }) => /(\d+)\D*$/u.exec(trace.lastReply)?.[1] === String(task.answer) },
  metrics: { turns: ({ trace }) => trace.turns },
});
