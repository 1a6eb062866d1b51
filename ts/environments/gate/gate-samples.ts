/** The tasks that the gate tries replies on: their gold replies, the form of their answers, and the wrong replies that their own check scored. */
import type { ConfiguredEnvironment, ScoredReply } from "../model/configured-environment.ts";
import { promptOfRow } from "../model/content-key.ts";
import type { Task } from "../model/tasks.ts";
import type { Inspection, Reply } from "../validation/inspection.ts";
import { lastText, saidInstead, wrappersOf } from "../validation/lazy-replies.ts";
import type { GateCheck } from "./gate.ts";

export interface Sample {
  readonly task: Task;
  readonly gold: ScoredReply;
  /** The last text of the gold reply. */
  readonly text: string;
  /** The answer in it, without its box, tag or code block. */
  readonly answer: string;
  /** All texts of the task's prompt; null where its row has none. */
  readonly prompt: string | null;
  /** Different replies that its own check scored lower. */
  readonly wrong: number;
  /** The answer in the place where the gold reply has it. */
  readonly place: (answer: string) => string;
  /** The gold conversation, with this text in each turn of the policy. */
  readonly reply: (text: string) => Reply;
}

export interface Samples {
  readonly samples: readonly Sample[];
  /** Tasks that were read, with gold replies and without. */
  readonly read: number;
  /** Why some have no gold reply; null: all have one. */
  readonly missing: string | null;
}

/** Reads `count` training tasks and runs their own checks. */
export async function readSamples(
  inspection: Inspection<GateCheck>,
  environment: ConfiguredEnvironment,
  count: number,
): Promise<Samples> {
  if (!environment.validates)
    return { samples: [], read: 0, missing: "it has no validate(), so its gold answers are not known" };
  const { seed } = inspection.options;
  const read = await inspection.attempt("full marks", "train", null, async () =>
    environment.tasks("train", seed).page(null, count),
  );
  const tasks = read?.tasks ?? [];
  const samples: Sample[] = [];
  for (const task of tasks) {
    const scored = await inspection.attempt("full marks", "train", task.key, () => environment.validate(task));
    const gold = (scored ?? []).toSorted((a, b) => b.reward - a.reward)[0];
    if (gold !== undefined && gold.reward > 0) samples.push(sampleOf(task, gold, scored ?? []));
  }
  const isWhole = samples.length === tasks.length && samples.length > 0;
  if (tasks.length === 0) return { samples, read: 0, missing: "there are no tasks to try" };
  const missing = "its validate() scores no right reply, such as score(task.answer)";
  return { samples, read: tasks.length, missing: isWhole ? null : missing };
}

function sampleOf(task: Task, gold: ScoredReply, scored: readonly ScoredReply[]): Sample {
  const text = lastText(gold.reply);
  const [wrapper] = wrappersOf(text);
  const answer = wrapper?.unwrap(text)?.trim() ?? text.trim();
  const messages = promptOfRow(task.data as object);
  const wrong = scored.filter(({ reward }) => reward < gold.reward).map(({ reply }) => JSON.stringify(reply));
  return {
    task,
    gold,
    text,
    answer,
    prompt: messages === null ? null : messages.map(({ content }) => content).join("\n\n"),
    wrong: new Set(wrong).size,
    place: (given) => (wrapper === undefined ? given : wrapper.wrap(given)),
    reply: (given) => saidInstead(gold.reply, () => given),
  };
}
