/** The names of sources, which are also those of their metrics and files. */
import { defaultSourceName } from "../fields.ts";
import type { Problem } from "../problem.ts";

/** The metrics have the numbers of all sources together under these: `train/agg/...`, `entropy/all/mean`. */
const OF_ALL_SOURCES: ReadonlySet<string> = new Set(["agg", "all"]);

interface Source {
  readonly name: string | null;
  readonly env: Parameters<typeof defaultSourceName>[0];
}

/** Problems of sources with the same name. */
export function* nameProblems(path: string[], sources: readonly Source[]): Generator<Problem> {
  const seen = new Map<string, number>();
  for (const [i, source] of sources.entries()) {
    const name = nameOf(source);
    const first = seen.get(name);
    if (first === undefined) seen.set(name, i);
    else {
      const message = `"${name}" is already the name of ${[...path, first].join(".")}: give each source another name`;
      yield { path: [...path, i, "name"], message };
    }
  }
}

/** Problems of training sources whose name the metrics use for all of them. */
export function* takenNames(path: string[], sources: readonly Source[]): Generator<Problem> {
  for (const [i, source] of sources.entries()) {
    const name = nameOf(source);
    if (!OF_ALL_SOURCES.has(name)) continue;
    const message = `"${name}" is where the metrics have the numbers of all sources together: give the source another name`;
    yield { path: [...path, i, "name"], message };
  }
}

export function nameOf({ name, env }: Source): string {
  return name ?? defaultSourceName(env);
}
