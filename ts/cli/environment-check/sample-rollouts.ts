/** Sample rollouts: some tasks of an environment as a model plays them, or, without a model, with the gold replies of its check. */
import { randomUUID } from "node:crypto";

import type { ConfiguredEnvironment, Message, ReplyClient, Task } from "../../environments/index.ts";
import { explain } from "../../errors.ts";

const DEFAULT_SAMPLING = { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 } as const;

export interface Said {
  readonly role: string;
  readonly content: string;
  /** Tool calls, `name arguments`. */
  readonly calls: readonly string[];
}

export interface SampleRollout {
  readonly task: string;
  /** Who replied. */
  readonly by: "model" | "gold" | "nothing";
  /** The conversation of each agent, in the order in which they began. */
  readonly conversations: readonly { readonly agent: string; readonly messages: readonly Said[] }[];
  readonly reward: number | null;
  /** Unweighted rewards, and metrics. */
  readonly scores: Readonly<Record<string, number>>;
  readonly stop: string | null;
  readonly error: string | null;
}

/** A message, of an environment or of a record. */
interface Recorded {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?:
    | readonly { readonly function: { readonly name: string; readonly arguments: string } }[]
    | undefined;
}

export interface SampleOptions {
  readonly count: number;
  readonly seed: number;
  /** Null: gold replies. */
  readonly client: ReplyClient | null;
  readonly deadlineMs: number;
  /** Called before each. */
  readonly begins: (task: string) => void;
}

/** The first tasks of `train`. */
export async function* sampleRollouts(
  environment: ConfiguredEnvironment,
  { count, seed, client, deadlineMs, begins }: SampleOptions,
): AsyncGenerator<SampleRollout> {
  const { tasks } = await environment.tasks("train", seed).page(null, count);
  for (const task of tasks) {
    begins(task.key);
    try {
      yield client === null
        ? await goldSample(environment, task)
        : await played(environment, task, { client, seed, deadlineMs });
    } catch (error) {
      yield { ...nothing(task), error: explain(error) };
    }
  }
}

function nothing({ key }: Task): SampleRollout {
  return { task: key, by: "nothing", conversations: [], reward: null, scores: {}, stop: null, error: null };
}

/** The best reply that the environment's own check scores. */
async function goldSample(environment: ConfiguredEnvironment, task: Task): Promise<SampleRollout> {
  const [gold] = (await environment.validate(task)).toSorted((a, b) => b.reward - a.reward);
  const prompt = promptOf(task);
  const agent = environment.agents[0] ?? "agent";
  if (gold === undefined) return { ...nothing(task), conversations: [{ agent, messages: prompt.map(said) }] };
  const { reward, rewards, metrics } = await environment.score(task, gold.reply);
  const messages: readonly Message[] =
    typeof gold.reply === "string" ? [...prompt, { role: "assistant", content: gold.reply }] : gold.reply;
  const scores = {
    ...Object.fromEntries(Object.entries(rewards).map(([name, { score }]) => [name, score])),
    ...metrics,
  };
  return { ...nothing(task), by: "gold", conversations: [{ agent, messages: messages.map(said) }], reward, scores };
}

async function played(
  environment: ConfiguredEnvironment,
  task: Task,
  { client, seed, deadlineMs }: { client: ReplyClient; seed: number; deadlineMs: number },
): Promise<SampleRollout> {
  const { episode } = await environment.run({
    episodeId: randomUUID(),
    groupId: "samples",
    source: environment.name,
    task,
    sampling: DEFAULT_SAMPLING,
    seed,
    run: { type: "train", step: 0 },
    endpoint: client,
    signal: AbortSignal.timeout(deadlineMs),
  });
  const [first] = episode.traces;
  const [error] = episode.errors;
  return {
    task: task.key,
    by: "model",
    conversations: episode.traces.map(({ agent, nodes }) => ({
      agent,
      messages: nodes.map(({ message }) => said(message)),
    })),
    reward: first?.reward ?? null,
    scores: {
      ...Object.fromEntries(Object.entries(first?.rewards ?? {}).map(([name, { score }]) => [name, score])),
      ...first?.metrics,
    },
    stop: first?.stop_condition ?? null,
    error: error === undefined ? null : `[${error.code}] ${error.message}`,
  };
}

function said({ role, content, tool_calls: calls }: Recorded): Said {
  return { role, content, calls: (calls ?? []).map(({ function: { name, arguments: given } }) => `${name} ${given}`) };
}

/** The row's prompt as messages, none where it has none. */
function promptOf({ data }: Task): Message[] {
  const { prompt } = data as { prompt?: unknown };
  if (typeof prompt === "string") return [{ role: "user", content: prompt }];
  return Array.isArray(prompt) ? (prompt as Message[]) : [];
}
