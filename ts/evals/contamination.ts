/**
 * Looks for tasks of an evaluation in what a model was trained on: a task is suspect when its prompt shares thirteen words in a row with a
 * prompt of a training trace (the rule of GPT-3's paper, Brown et al., 2020, appendix C), or all of its words when it has fewer.
 *
 * Words are runs of letters and digits without case. Replies are not searched: a policy may write what it was never shown.
 */
import { PrlError } from "../errors.ts";
import type { Episode } from "../environments/index.ts";
import { textLines } from "../files/text-lines.ts";
import { readEpisode } from "./read-episode.ts";
import { traceFiles } from "./replay.ts";

const RUN_WORDS = 13;
/** A prompt with fewer words says too little: half of the prompts of a form share them. */
const LEAST_WORDS = 5;

/** Keys are snake_case, as in `summary.json`. */
export interface Contamination {
  readonly evaluation: string;
  readonly tasks: number;
  /** Tasks whose prompts are too short to be looked for. */
  readonly too_short: number;
  /** Keys of the suspect tasks. */
  readonly suspect: readonly string[];
  /** Words that the first suspect tasks share with training, by key of the task. */
  readonly shared: Readonly<Record<string, string>>;
}

/** Suspect tasks that are shown with their words. */
const SHOWN = 20;

/** Errors: PRL_RUN_UNKNOWN when a folder has no traces. */
export async function findContamination(evaluation: string, training: string): Promise<Contamination[]> {
  const tasks = new Map<string, Map<string, { key: string; words: readonly string[] }>>();
  for await (const { env, task, traces } of episodes(evaluation, "eval")) {
    const prompts = traces.slice(0, 1).map(promptText);
    const known = tasks.get(env.name) ?? new Map<string, { key: string; words: readonly string[] }>();
    tasks.set(env.name, known.set(task.hash, { key: task.key, words: wordsOf(prompts.join(" ")) }));
  }
  const common = [...tasks].map(([name, known]) => ({ name, known, form: commonRuns([...known.values()]) }));
  const owners = new Map<string, { name: string; key: string }[]>();
  for (const { name, known, form } of common)
    for (const { key, words } of known.values())
      for (const run of runsOf(words)) if (!form.has(run)) owners.set(run, [...(owners.get(run) ?? []), { name, key }]);
  const shared = new Map<string, Map<string, string>>();
  const sizes = new Set([...owners.keys()].map((run) => run.split(" ").length));
  for await (const { traces } of episodes(training, "train"))
    for (const trace of traces)
      for (const run of runsOf(wordsOf(promptText(trace)), sizes))
        for (const { name, key } of owners.get(run) ?? []) {
          const found = shared.get(name) ?? new Map<string, string>();
          shared.set(name, found.set(key, found.get(key) ?? run));
        }
  return common.map(({ name, known }) => {
    const found = [...(shared.get(name) ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return {
      evaluation: name,
      tasks: known.size,
      too_short: [...known.values()].filter(({ words }) => words.length < LEAST_WORDS).length,
      suspect: found.map(([key]) => key),
      shared: Object.fromEntries(found.slice(0, SHOWN)),
    };
  });
}

async function* episodes(runDir: string, type: "eval" | "train"): AsyncGenerator<Episode> {
  const files = await traceFiles(runDir);
  if (files.length === 0)
    throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} has no traces of an evaluation or a training run`);
  for (const file of files) {
    for await (const line of textLines(file)) {
      const episode = readEpisode(line);
      if (episode !== null && episode.run.type === type) yield episode;
    }
  }
}

/** The texts before the first sampled message. */
function promptText({ nodes }: Episode["traces"][number]): string {
  const first = nodes.findIndex(({ sampled }) => sampled);
  const prompt = nodes.slice(0, first < 0 ? nodes.length : first);
  return prompt.map(({ message }) => message.content).join(" ");
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Runs of thirteen words, or of all words of a shorter text; with `sizes` the runs of these lengths. */
function runsOf(words: readonly string[], sizes?: ReadonlySet<number>): Set<string> {
  const runs = new Set<string>();
  if (sizes === undefined && words.length < LEAST_WORDS) return runs;
  for (const size of sizes ?? [Math.min(RUN_WORDS, words.length)])
    for (let at = 0; at + size <= words.length; at++) runs.add(words.slice(at, at + size).join(" "));
  return runs;
}

/** Runs that most tasks have: the instructions of the prompt's form, which say nothing about a task. */
function commonRuns(tasks: readonly { readonly words: readonly string[] }[]): Set<string> {
  const counts = new Map<string, number>();
  for (const { words } of tasks) for (const run of runsOf(words)) counts.set(run, (counts.get(run) ?? 0) + 1);
  const most = Math.max(1, tasks.length / 4);
  return new Set([...counts].flatMap(([run, count]) => (count > most ? [run] : [])));
}
