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
  /** Streams that show them. */
  readonly shows: readonly number[];
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
const STREAMS = 14;
const LEAST_SIBLINGS = 3;
const MOST_SIBLINGS = 6;
const OLDS = 3;
/** Streams on which mutants are tried. */
const TRIED = 6;
const MUTANTS = 4;
const LEAST_MUTANTS = 2;
const LONGEST_REPORT = 14;

export function make(rng: Rng, level: Level): Instance | null {
  const [least, most] = at(INDIRECTION, level - 1);
  const near = measuredSites().filter(({ depth }) => depth >= least - 1 && depth <= most);
  const { site } = rng.pick(near);
  const project = drawProject(rng, at(FEATURES, level - 1) + rng.integer(2), site.feature);
  const fault = rng.pick(faultsOf(site));
  const seed = rng.integer(2 ** 31);
  const streams = streamsOf(project, site, seed);
  const [right, given] = [versionOf(project), versionOf(project, [fault])];
  const answers = streams.map((stream) => right.answers(stream));
  const places = streams.map((stream, index) => firstDifference(at(answers, index), given.answers(stream)));
  const changed = [...places.keys()].filter((index) => at(places, index) !== null);
  const same = [...places.keys()].filter((index) => places[index] === null);
  if (changed.length < LEAST_SIBLINGS + 1 || same.length < OLDS) return null;
  const shortest = changed.reduce((best, index) => ((places[index] ?? 0) < (places[best] ?? 0) ? index : best));
  const report = reportOf(at(streams, shortest).slice(0, (places[shortest] ?? 0) + 1), right, given);
  if (report === null) return null;
  const reached = given.reached(report);
  const way = depthOf(reached, functionOf(project, site));
  if (way === null || way.depth < least || way.depth > most) return null;
  const rest = changed.filter((index) => index !== shortest).slice(0, MOST_SIBLINGS);
  const found = mutantsOf({ project, fault, streams, answers, reached }, rng);
  if (found === null) return null;
  return {
    project,
    fault,
    indirection: way.depth,
    read: way.read,
    level,
    report,
    seed,
    siblings: rest,
    olds: same.slice(0, OLDS),
    ...found,
  };
}

export function streamsOf(project: Project, { feature }: Pick<Site, "feature">, seed: number): Request[][] {
  const rng = createRng(seed);
  const favoured = feature === null ? [] : [feature];
  return range(STREAMS).map(() => drawStream(project, rng, { favoured }));
}

export function siteOf({ project, fault }: Pick<Instance, "project" | "fault">): Site {
  const found = sitesOf(project).find(({ path, site }) => path === fault.path && site === fault.site);
  if (found === undefined) throw new RangeError(`no site ${fault.site} in ${fault.path}`);
  return found;
}

/** The fewest requests whose last response is wrong; null where they are many, or where the program crashes. */
function reportOf(requests: readonly Request[], right: Version, given: Version): Request[] | null {
  const differs = (some: readonly Request[]): boolean => {
    const [good, bad] = [right.answers(some), given.answers(some)];
    return good !== null && bad !== null && firstDifference(good, bad) === some.length - 1;
  };
  if (!differs(requests)) return null;
  const report = shrunk(requests, differs);
  return report.length > LONGEST_REPORT ? null : report;
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
  readonly streams: readonly (readonly Request[])[];
  readonly answers: readonly (readonly Json[] | null)[];
  readonly reached: readonly ReadonlyMap<string, number>[];
}

/** Other faults in functions that the report reaches: those in the same file first. Null where too few show in the streams. */
function mutantsOf(
  { project, fault, streams, answers, reached }: Drawn,
  rng: Rng,
): Pick<Instance, "mutants" | "shows"> | null {
  const functions = new Set(reached.flatMap((one) => [...one.keys()]));
  const sites = sitesOf(project).filter((site) => functions.has(functionOf(project, site)));
  const others = shuffled(sites.flatMap(faultsOf), rng).filter(
    ({ path, site, choice }) => path !== fault.path || site !== fault.site || choice !== fault.choice,
  );
  const mutants: Fault[] = [];
  const shows = new Set<number>();
  for (const mutant of others.toSorted((a, b) => Number(b.path === fault.path) - Number(a.path === fault.path))) {
    if (mutants.length === MUTANTS) break;
    const version = versionOf(project, [mutant]);
    const shown = range(TRIED).find((index) => {
      const given = version.answers(at(streams, index));
      return given !== null && firstDifference(at(answers, index), given) !== null;
    });
    if (shown === undefined) continue;
    mutants.push(mutant);
    shows.add(shown);
  }
  return mutants.length < LEAST_MUTANTS ? null : { mutants, shows: [...shows].sort((a, b) => a - b) };
}

/** Requests of a test that projects show: the beginning of a stream that the fault does not change. */
export function shownOf({ olds, seed, project, fault }: Instance): readonly Request[] {
  const stream = at(streamsOf(project, siteOf({ project, fault }), seed), at(olds, 0));
  return stream.slice(0, between(createRng(seed), 9, 11));
}
