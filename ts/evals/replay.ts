/**
 * Scores saved traces of evaluations and training runs again, with the environments' current rewards.
 *
 * Nothing is sampled and nothing in the run directory changes. A rollout that ended and failed in its scoring is scored now; one
 * that failed before its end is left out and counted by its error. The rollout's sandbox is gone, and a reward that asks for it
 * fails (PRL_ENVIRONMENT_UNSUPPORTED).
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { type ConfiguredEnvironment, type Episode, loadEnvironment, rewardOf } from "../environments/index.ts";
import { toEpisodeError, withGroupScores } from "../environments/internal.ts";
import { PrlError } from "../errors.ts";
import { isMissing } from "../files/file-presence.ts";
import { textLines } from "../files/text-lines.ts";
import { readEpisode } from "./read-episode.ts";

/** A rollout with its saved and its new score; NaN where the rewards failed. */
export interface ReplayedRollout {
  readonly id: string;
  readonly before: number;
  readonly now: number;
  readonly error: string | null;
}

/** Keys are snake_case, as in `summary.json`. */
export interface ReplayReport {
  /** `eval`, `train`, and the source's name. */
  readonly type: Episode["run"]["type"];
  readonly source: string;
  readonly environment: { readonly name: string; readonly version: string };
  readonly rollouts: readonly ReplayedRollout[];
  /** Rollouts that had failed before their end, by the code of their error, and lines that hold no episode (`torn`). */
  readonly left_out: Readonly<Record<string, number>>;
}

interface Source {
  readonly type: Episode["run"]["type"];
  readonly name: string;
  readonly environment: ConfiguredEnvironment;
}

const AT_ONCE = 64;
const sourceSchema = z.looseObject({
  name: z.string(),
  env: z.looseObject({
    id: z.string().nullable(),
    path: z.string().nullable(),
    args: z.record(z.string(), z.unknown()),
  }),
});
const sources = z.array(sourceSchema);
const evalSchema = z.looseObject({ eval: sources });
const rlSchema = z.looseObject({
  orchestrator: z.looseObject({
    train: z.looseObject({ source: sources }),
    eval: z.looseObject({ source: sources }).nullish(),
  }),
});

/** Errors: PRL_RUN_UNKNOWN when the folder holds no run, PRL_IO, those of loading the environments; the signal's reason. */
export async function replayRun(dir: string, signal: AbortSignal): Promise<ReplayReport[]> {
  const reports: ReplayReport[] = [];
  const files = await traceFiles(dir);
  for (const source of await readSources(dir)) reports.push(await replaySource(source, files, signal));
  return reports.filter(({ rollouts, left_out }) => rollouts.length + Object.keys(left_out).length > 0);
}

async function readSources(dir: string): Promise<Source[]> {
  const evaluated = await readConfig(dir, "eval.json", evalSchema);
  const trained = await readConfig(dir, "rl.json", rlSchema);
  if (evaluated === null && trained === null)
    throw new PrlError("PRL_RUN_UNKNOWN", `${dir} holds no run: there is no configs/eval.json and no configs/rl.json`);
  const known = [
    ...(evaluated?.eval ?? []).map((one) => ({ type: "eval", ...one }) as const),
    ...(trained?.orchestrator.train.source ?? []).map((one) => ({ type: "train", ...one }) as const),
    ...(trained?.orchestrator.eval?.source ?? []).map((one) => ({ type: "eval", ...one }) as const),
  ];
  return Promise.all(
    known.map(async ({ type, name, env: { id, path, args } }) => {
      const environment = (await loadEnvironment({ id, path })).configure(args);
      return { type, name, environment };
    }),
  );
}

async function readConfig<Schema extends z.ZodType>(
  dir: string,
  name: string,
  schema: Schema,
): Promise<z.output<Schema> | null> {
  const path = join(dir, "configs", name);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_IO", `cannot read ${path}`, { cause });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_RUN_UNKNOWN", `${path} is no config of a run`, { cause });
  }
}

/** `traces.jsonl` of an evaluation, those of every step of a training run and of its evaluations, in the order of the steps. */
export async function traceFiles(dir: string): Promise<string[]> {
  try {
    const found = await readdir(dir, { recursive: true });
    const traces = found.filter((path) => /^(traces|rollouts\/step_\d+\/(traces|eval\/[^/]+))\.jsonl$/u.test(path));
    return traces.toSorted((a, b) => stepOf(a) - stepOf(b)).map((path) => join(dir, path));
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot read the run directory ${dir}`, { cause });
  }
}

const stepOf = (path: string): number => Number(/step_(\d+)/u.exec(path)?.[1] ?? 0);

async function replaySource(source: Source, files: readonly string[], signal: AbortSignal): Promise<ReplayReport> {
  const { type, name, environment } = source;
  const rollouts: ReplayedRollout[] = [];
  const leftOut: Record<string, number> = {};
  const flush = async (batch: readonly (readonly Episode[])[]): Promise<void> => {
    const scored = await Promise.all(batch.map((group) => rescoreGroup(environment, group, signal)));
    rollouts.push(...scored.flat());
  };
  for (const file of files) {
    let groups = new Map<string, Episode[]>();
    let held = 0;
    for await (const line of textLines(file)) {
      if (line === "") continue;
      signal.throwIfAborted();
      const episode = readEpisode(line);
      if (episode !== null && (episode.env.name !== name || episode.run.type !== type)) continue;
      const failure = episode === null ? "torn" : earlyFailure(episode);
      if (failure !== null) leftOut[failure] = (leftOut[failure] ?? 0) + 1;
      else if (episode !== null) {
        const key = `${episode.run.step} ${episode.group.id}`;
        groups.set(key, [...(groups.get(key) ?? []), episode]);
        held += 1;
      }
      // Group rewards need whole groups, whose members may be anywhere in the file.
      if (held < AT_ONCE || environment.scoresGroups) continue;
      await flush([...groups.values()]);
      groups = new Map();
      held = 0;
    }
    await flush([...groups.values()]);
  }
  return {
    type,
    source: name,
    environment: { name: environment.name, version: environment.version },
    rollouts,
    left_out: leftOut,
  };
}

/** The code of the error that ended a rollout early; null when all of its conversations are complete. */
function earlyFailure({ ok, errors, traces }: Episode): string | null {
  const hasEnded = traces.length > 0 && traces.every(({ stop_condition: stop }) => stop !== null);
  return ok || hasEnded ? null : (errors[0]?.code ?? "PRL_ENVIRONMENT_FAILED");
}

async function rescoreGroup(
  environment: ConfiguredEnvironment,
  group: readonly Episode[],
  signal: AbortSignal,
): Promise<ReplayedRollout[]> {
  const failures = new Map<Episode, string>();
  const scored = await Promise.all(
    group.map(async (episode): Promise<Episode> => {
      try {
        return await environment.rescore(episode, signal);
      } catch (error) {
        signal.throwIfAborted();
        const failed = toEpisodeError(error);
        const nothing = { ...episode, ok: false, errors: [failed] };
        failures.set(nothing, `[${failed.code}] ${failed.message}`);
        return nothing;
      }
    }),
  );
  const [first] = group;
  const together =
    first !== undefined && environment.scoresGroups
      ? withGroupScores(scored, await environment.scoreGroup(first.task, scored, signal))
      : scored;
  return group.map((episode, index) => {
    const now = together[index];
    const own = scored[index];
    const error = now?.ok === true ? null : ((own && failures.get(own)) ?? now?.errors[0]?.message ?? "not scored");
    return { id: episode.id, before: rewardOf(episode), now: now === undefined ? Number.NaN : rewardOf(now), error };
  });
}
