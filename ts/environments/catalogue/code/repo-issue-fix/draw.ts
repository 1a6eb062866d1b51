/** An instance: a project with a fault, a report that shows it, and streams of requests that hidden tests use. */
import { between, shuffled } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Json } from "../json.ts";
import { functionOf, measuredSites } from "../repositories/depths.ts";
import { firstDifference, shrunk, type Version, versionOf } from "../repositories/observed.ts";
import { drawProject, type Fault, faultsOf, type Project, type Site, sitesOf } from "../repositories/project.ts";
import { drawStream, type Request } from "../repositories/streams.ts";

export interface Instance {
  readonly project: Project;
  readonly fault: Fault;
  /** Calls from the handler of the request that went wrong to the function with the fault. */
  readonly indirection: number;
  /** Functions that a reader meets before it, who goes down from the handler level by level. */
  readonly read: number;
  /** How much the report says. */
  readonly level: Level;
  /** Requests of which the last one is answered wrong, and no earlier one. */
  readonly report: readonly Request[];
  /** Of the streams. */
  readonly seed: number;
  /** Streams that the fault changes, and streams that it does not. */
  readonly siblings: readonly number[];
  readonly olds: readonly number[];
  /** Faults elsewhere on the way of the report, each of which a stream shows. */
  readonly mutants: readonly Fault[];
  /** Beginnings of streams that show them. */
  readonly shows: readonly { readonly stream: number; readonly length: number }[];
}

interface Run {
  readonly requests: readonly Request[];
  readonly answers: readonly Json[] | null;
  /** Of the first response that the fault changes. */
  readonly place: number | null;
}

/** By level: optional features, and the least and greatest indirection. */
const FEATURES = [0, 2, 4, 6, 9] as const;
const INDIRECTION = [
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
  [5, 8],
] as const;
const STREAMS = 12;
/** If these streams do not show the fault, it is a rare one. */
const FIRST = 4;
/** The place of the difference in the stream from which the report was made. */
const SHOWN = -1;
const LEAST_SIBLINGS = 3;
const MOST_SIBLINGS = 6;
const OLDS = 2;
/** Streams on which mutants are tried. */
const TRIED = 5;
const MUTANTS = 4;
const LEAST_MUTANTS = 2;
const LONGEST_REPORT = 14;

export function make(rng: Rng, level: Level): Instance | null {
  const [least, most] = at(INDIRECTION, level - 1);
  const { site } = rng.pick(measuredSites().filter(({ depth }) => depth >= least - 1 && depth <= most));
  const project = drawProject(rng, at(FEATURES, level - 1) + rng.integer(2), site.feature);
  const fault = rng.pick(faultsOf(site));
  const seed = rng.integer(2 ** 31);
  const [right, given] = [versionOf(project), versionOf(project, [fault])];
  const runs: Run[] = [];
  let found: Pick<Instance, "report" | "indirection" | "read"> | null = null;
  const called = functionOf(project, site);
  for (const requests of streamsOf(project, site, seed)) {
    const { answers, reached } = right.observed(requests);
    const isReached = reached.some((one) => one.has(called));
    const place = isReached ? firstDifference(answers, given.answers(requests)) : null;
    runs.push({ requests, answers, place });
    if (place === null && found === null && runs.length === FIRST) return null;
    if (place === null || found !== null) continue;
    found = reportOf(requests.slice(0, place + 1), right, given, called);
    if (found === null || found.indirection < least || found.indirection > most) return null;
    runs.pop();
    runs.push({ requests, answers, place: SHOWN });
  }
  if (found === null) return null;
  const where = (test: (place: number | null) => boolean): number[] =>
    [...runs.keys()].filter((index) => test(at(runs, index).place));
  const siblings = where((place) => place !== null && place !== SHOWN);
  const olds = where((place) => place === null);
  if (siblings.length < LEAST_SIBLINGS || olds.length < OLDS) return null;
  const mutants = mutantsOf({ project, fault, runs, reached: given.reached(found.report) }, rng);
  if (mutants === null) return null;
  return {
    project,
    fault,
    ...found,
    level,
    seed,
    siblings: siblings.slice(0, MOST_SIBLINGS),
    olds: olds.slice(0, OLDS),
    ...mutants,
  };
}

export function* streamsOf(project: Project, { feature }: Pick<Site, "feature">, seed: number): Generator<Request[]> {
  const rng = createRng(seed);
  const favoured = feature === null ? [] : [feature];
  for (const _ of range(STREAMS)) yield drawStream(project, rng, { favoured });
}

export function siteOf({ project, fault }: Pick<Instance, "project" | "fault">): Site {
  const found = sitesOf(project).find(({ path, site }) => path === fault.path && site === fault.site);
  if (found === undefined) throw new RangeError(`no site ${fault.site} in ${fault.path}`);
  return found;
}

/** The fewest requests whose last response is wrong; null where they are many, where the project crashes, or the fault is not on their way. */
function reportOf(
  requests: readonly Request[],
  right: Version,
  given: Version,
  called: string,
): Pick<Instance, "report" | "indirection" | "read"> | null {
  const differs = (some: readonly Request[]): boolean => {
    const bad = given.answers(some);
    return bad !== null && firstDifference(right.answers(some), bad) === some.length - 1;
  };
  if (!differs(requests)) return null;
  const report = shrunk(requests, differs);
  const way = depthOf(given.reached(report), called);
  return way === null || report.length > LONGEST_REPORT ? null : { report, indirection: way.depth, read: way.read };
}

/** Depth of a function in the last request that reaches it. Where that is an earlier request, its result lay in the store: one step more. */
function depthOf(
  reached: readonly ReadonlyMap<string, number>[],
  called: string,
): { depth: number; read: number } | null {
  const index = reached.findLastIndex((one) => one.has(called));
  const here = reached[index];
  const own = here?.get(called);
  if (here === undefined || own === undefined) return null;
  const stored = index === reached.length - 1 ? 0 : 1;
  const before = [...here.values()].filter((depth) => depth < own).length;
  return { depth: own + stored, read: before + stored * (reached.at(-1)?.size ?? 0) };
}

interface Drawn {
  readonly project: Project;
  readonly fault: Fault;
  readonly runs: readonly Run[];
  readonly reached: readonly ReadonlyMap<string, number>[];
}

/** Other faults in functions that the report reaches: those in the same file first. Null where too few show in the streams. */
function mutantsOf({ project, fault, runs, reached }: Drawn, rng: Rng): Pick<Instance, "mutants" | "shows"> | null {
  const functions = new Set(reached.flatMap((one) => [...one.keys()]));
  const sites = sitesOf(project).filter((site) => functions.has(functionOf(project, site)));
  const others = shuffled(sites.flatMap(faultsOf), rng).filter(
    ({ path, site, choice }) => path !== fault.path || site !== fault.site || choice !== fault.choice,
  );
  const mutants: Fault[] = [];
  const shows = new Map<number, number>();
  for (const mutant of others.toSorted((a, b) => Number(b.path === fault.path) - Number(a.path === fault.path))) {
    if (mutants.length === MUTANTS) break;
    const version = versionOf(project, [mutant]);
    const tried = [...shows.keys(), ...range(TRIED).filter((index) => !shows.has(index))];
    for (const index of tried) {
      const { requests, answers } = at(runs, index);
      const given = version.answers(requests);
      const place = given === null ? null : firstDifference(answers, given);
      if (place === null) continue;
      mutants.push(mutant);
      shows.set(index, Math.max(shows.get(index) ?? 0, place + 1));
      break;
    }
  }
  if (mutants.length < LEAST_MUTANTS) return null;
  return { mutants, shows: [...shows].map(([stream, length]) => ({ stream, length })) };
}

/** Requests of a test that projects show: the beginning of a stream that the fault does not change. */
export function shownOf({ olds, seed, project, fault }: Instance): readonly Request[] {
  const stream = at([...streamsOf(project, siteOf({ project, fault }), seed)], at(olds, 0));
  return stream.slice(0, between(createRng(seed), 9, 11));
}
