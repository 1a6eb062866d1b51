/** What projects answer to streams of requests, and which functions a request reaches. */
import type { Json } from "../json.ts";
import { isList } from "../json.ts";
import { codeOf, domainOf, type Fault, type Project } from "./project.ts";
import { CRASH, type Files, Project as Running, type Trace } from "./python/run-files.ts";
import { encoded, type Request } from "./streams.ts";

/** A version of a project that runs here. */
export interface Version {
  /** Responses by request, or null where it crashes. */
  readonly answers: (requests: readonly Request[]) => readonly Json[] | null;
  /** Both at once. */
  readonly observed: (requests: readonly Request[]) => {
    readonly answers: readonly Json[] | null;
    readonly reached: ReadonlyMap<string, number>[];
  };
  /** Depth of each function below the handler (which has 0), for each request: the least. */
  readonly reached: (requests: readonly Request[]) => ReadonlyMap<string, number>[];
}

export function versionOf(project: Project, faults: readonly Fault[] = []): Version {
  return versionWith(project, codeOf(project, faults));
}

/** The version with these files. */
export function versionWith(project: Project, files: Files): Version {
  const running = new Running(files);
  const module = `${domainOf(project).pkg}.main`;
  const asAnswers = (result: Json): readonly Json[] | null => (result === CRASH || !isList(result) ? null : result);
  const observed: Version["observed"] = (requests) => {
    const { result, trace } = running.traced(module, "run", [encoded(project, requests)]);
    return { answers: asAnswers(result), reached: perRequest(trace, project) };
  };
  return {
    answers: (requests) => asAnswers(running.call(module, "run", [encoded(project, requests)])),
    observed,
    reached: (requests) => observed(requests).reached,
  };
}

function perRequest(trace: Trace, project: Project): Map<string, number>[] {
  const { pkg } = domainOf(project);
  const requests: Map<string, number>[] = [];
  let base = 0;
  for (const { called, depth } of trace) {
    if (called === `${pkg}.routes:dispatch`) {
      requests.push(new Map());
      base = depth + 1;
      continue;
    }
    const here = requests.at(-1);
    if (here === undefined || depth < base) continue;
    here.set(called, Math.min(here.get(called) ?? Infinity, depth - base));
  }
  return requests;
}

/** The first request that is answered in another way; null where none is. */
export function firstDifference(one: readonly Json[] | null, other: readonly Json[] | null): number | null {
  if (one === null || other === null) return one === other ? null : 0;
  const at = one.findIndex((response, index) => JSON.stringify(response) !== JSON.stringify(other[index]));
  return at < 0 ? null : at;
}

/** A stream without the requests that its last difference does not need: halves are tried first, then single ones. */
export function shrunk(
  requests: readonly Request[],
  differs: (requests: readonly Request[]) => boolean,
): readonly Request[] {
  let left = requests;
  for (let size = Math.floor(requests.length / 2); size >= 1; size = Math.floor(size / 2))
    for (let end = left.length - 1; end > 0; end -= size) {
      const without = [...left.slice(0, Math.max(0, end - size)), ...left.slice(end)];
      if (differs(without)) left = without;
    }
  return left;
}
