/** An instance: a project with a fault, a report that shows it, and streams of requests that hidden tests use. */
import { between, shuffled } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Json } from "../json.ts";
import { firstDifference, shrunk, type Version, versionOf } from "../repositories/observed.ts";
import { drawProject, type Fault, faultsOf, functionOf, type Project, sitesOf } from "../repositories/project.ts";
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
  /** The optional feature that the streams are about, besides others. */
  readonly favoured: string | null;
  /** Of the streams. */
  readonly seed: number;
  /** Streams that the fault changes, and streams that it does not. Those that show the mutants are among them: no answer may bring one of these faults. */
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
}

/** By level: optional features, and the least and greatest indirection. */
const FEATURES = [2, 3, 5, 7, 10] as const;
const INDIRECTION = [
  [1, 1],
  [2, 2],
  [3, 3],
  [4, 4],
  [5, 8],
] as const;
const STREAMS = 12;
/** Streams among which one must show the fault, and faults that are tried on them. */
const FIRST = 4;
const TRIED_FAULTS = 6;
/** Of so many draws one does not prefer faults of the favoured feature. */
const OF_DESK = 3;
const LEAST_SIBLINGS = 3;
const MOST_SIBLINGS = 6;
const OLDS = 2;
/** Streams on which mutants are tried. */
const TRIED = 5;
const MUTANTS = 4;
const LEAST_MUTANTS = 2;
const LONGEST_REPORT = 14;

export function make(rng: Rng, level: Level): Instance | null {
  const project = drawProject(rng, at(FEATURES, level - 1) + rng.integer(2));
  const favoured = project.features.length === 0 ? null : rng.pick(project.features);
  const seed = rng.integer(2 ** 31);
  const right = versionOf(project);
  const streams = streamsOf({ project, favoured, seed });
  const runs: Run[] = [];
  const reached: ReadonlyMap<string, number>[] = [];
  for (const requests of streams.slice(0, FIRST)) {
    const observed = right.observed(requests);
    runs.push({ requests, answers: observed.answers });
    reached.push(...observed.reached);
  }
  const found = faultOf({ project, favoured, right, runs, reached, depths: at(INDIRECTION, level - 1) }, rng);
  if (found === null) return null;
  const { shown, ...fault } = found;
  for (const requests of streams.slice(FIRST)) runs.push({ requests, answers: right.answers(requests) });
  const given = versionOf(project, [fault.fault]);
  const others = [...runs.keys()].filter((index) => index !== shown);
  const changed = others.filter((index) => differs(at(runs, index), given));
  const olds = others.filter((index) => !changed.includes(index));
  if (changed.length < LEAST_SIBLINGS || olds.length < OLDS) return null;
  const mutants = mutantsOf({ project, fault: fault.fault, runs, reached: given.reached(fault.report) }, rng);
  if (mutants === null) return null;
  return {
    project,
    ...fault,
    level,
    favoured,
    seed,
    ...hiddenStreams(changed, olds, mutants),
    ...mutants,
  };
}

/** Streams that show a mutant come first, so that all of them are hidden tests. */
function hiddenStreams(
  changed: readonly number[],
  olds: readonly number[],
  { shows }: Pick<Instance, "shows">,
): Pick<Instance, "siblings" | "olds"> {
  const showing = shows.map(({ stream }) => stream);
  const [old, other] = [
    showing.filter((index) => olds.includes(index)),
    showing.filter((index) => !olds.includes(index)),
  ];
  return {
    siblings: [...new Set([...other, ...changed])].slice(0, MOST_SIBLINGS),
    olds: [...new Set([...old, ...olds])].slice(0, Math.max(OLDS, old.length)),
  };
}

function differs({ requests, answers }: Run, given: Version): boolean {
  return firstDifference(answers, given.answers(requests)) !== null;
}

interface Search {
  readonly project: Project;
  readonly favoured: string | null;
  readonly right: Version;
  /** The first streams, and the functions that their requests reach. */
  readonly runs: readonly Run[];
  readonly reached: readonly ReadonlyMap<string, number>[];
  /** Least and greatest indirection. */
  readonly depths: readonly [number, number];
}

/** A fault that one of the first streams shows, with the report that follows from this stream. */
function faultOf(
  { project, favoured, right, runs, reached, depths: [least, most] }: Search,
  rng: Rng,
): (Pick<Instance, "fault" | "report" | "indirection" | "read"> & { readonly shown: number }) | null {
  const near = sitesOf(project).filter((site) => {
    const called = functionOf(project, site);
    return reached.some((one) => {
      const depth = one.get(called) ?? 0;
      return depth >= least && depth <= most;
    });
  });
  const drawn = shuffled(near, rng);
  // Else most faults would be in the fees and the calendar, which every stream meets.
  if (rng.integer(OF_DESK) > 0) drawn.sort((a, b) => Number(b.feature === favoured) - Number(a.feature === favoured));
  for (const site of drawn.slice(0, TRIED_FAULTS)) {
    const fault = rng.pick(faultsOf(site));
    const given = versionOf(project, [fault]);
    for (const [shown, { requests, answers }] of runs.entries()) {
      const place = firstDifference(answers, given.answers(requests));
      if (place === null) continue;
      const found = reportOf(requests.slice(0, place + 1), right, given, functionOf(project, site));
      if (found === null || found.indirection < least || found.indirection > most) break;
      return { fault, ...found, shown };
    }
  }
  return null;
}

export function streamsOf({ project, favoured, seed }: Pick<Instance, "project" | "favoured" | "seed">): Request[][] {
  const rng = createRng(seed);
  return range(STREAMS).map(() => drawStream(project, rng, { favoured: favoured === null ? [] : [favoured] }));
}

/** The fewest requests whose last response is wrong; null where they are many, where the project crashes, or the fault is not on their way. */
function reportOf(
  requests: readonly Request[],
  right: Version,
  given: Version,
  called: string,
): Pick<Instance, "report" | "indirection" | "read"> | null {
  const goesWrong = (some: readonly Request[]): boolean => {
    const bad = given.answers(some);
    return bad !== null && firstDifference(right.answers(some), bad) === some.length - 1;
  };
  if (!goesWrong(requests)) return null;
  const report = shrunk(requests, goesWrong);
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
export function shownOf(instance: Instance): readonly Request[] {
  const stream = at(streamsOf(instance), at(instance.olds, 0));
  return stream.slice(0, between(createRng(instance.seed), 9, 11));
}
