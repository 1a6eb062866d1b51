/** An instance: a project, the feature that is missing from it, and streams of requests that hidden tests use. */
import { shuffled } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { firstDifference, type Version, versionOf } from "../repositories/observed.ts";
import { codeOf, drawProject, type Fault, faultsOf, type Project, sitesOf, worded } from "../repositories/project.ts";
import { outcome } from "../repositories/responses.ts";
import { drawStream, type Request } from "../repositories/streams.ts";
import { FEATURES, type FeatureText } from "../repositories/templates/features.ts";

export interface Instance {
  /** With the feature. */
  readonly project: Project;
  readonly feature: string;
  /** Code files of the project without the feature that change with it. */
  readonly touched: number;
  /** Code files that come with it. */
  readonly added: number;
  /** Of the streams. */
  readonly seed: number;
  /** Streams with the feature, which tell careless versions from the right one, and streams without it. */
  readonly with: readonly number[];
  /** Faults in the code of the feature that these streams show. */
  readonly careless: readonly Fault[];
}

/** By level: optional features of the project, the one that is missing among them, and the files that it touches. */
const COUNTS = [2, 4, 6, 8, 10] as const;
const TOUCHED = [
  [1, 2],
  [2, 3],
  [3, 4],
  [4, 5],
  [5, 8],
] as const;
const STREAMS = 9;
const OLDS = 4;
const LEAST_WITH = 4;
const MOST_WITH = 6;
const TRIED_FAULTS = 5;
const LEAST_CARELESS = 2;

export function make(rng: Rng, level: Level): Instance | null {
  const [least, most] = at(TOUCHED, level - 1);
  const feature = rng.pick(FEATURES).id;
  const project = drawProject(rng, at(COUNTS, level - 1), feature);
  const [before, after] = [codeOf(without(project, feature)), codeOf(project)];
  const paths = Object.keys(after).filter((path) => before[path] !== after[path]);
  const touched = paths.filter((path) => path in before).length;
  if (touched < least || touched > most) return null;
  const seed = rng.integer(2 ** 31);
  const right = versionOf(project);
  const streams = streamsOf({ project, feature, seed });
  const command = commandOf(project, feature);
  const answered = streams.map((stream) => right.answers(stream));
  const using = [...streams.keys()].filter((index) =>
    answered[index]?.some(
      (response, place) => streams[index]?.[place]?.name === command && outcome(response).error === null,
    ),
  );
  if (using.length < LEAST_WITH) return null;
  const chosen = using.slice(0, MOST_WITH);
  const careless = carelessOf(
    { project, feature },
    (version) =>
      chosen.some((index) => {
        const given = version.answers(at(streams, index));
        return given === null || firstDifference(answered[index] ?? null, given) !== null;
      }),
    rng,
  );
  if (careless.length < LEAST_CARELESS) return null;
  return { project, feature, touched, added: paths.length - touched, seed, with: chosen, careless };
}

/** Faults of the feature that the streams show. */
function carelessOf(
  { project, feature }: Pick<Instance, "project" | "feature">,
  shows: (version: Version) => boolean,
  rng: Rng,
): Fault[] {
  const sites = sitesOf(project).filter((site) => site.feature === feature);
  return shuffled(sites.flatMap(faultsOf), rng)
    .slice(0, TRIED_FAULTS)
    .filter((fault) => shows(versionOf(project, [fault])));
}

export function without(project: Project, feature: string): Project {
  return { ...project, features: project.features.filter((one) => one !== feature) };
}

/** Streams about the feature, without looks at the journal. */
export function streamsOf({ project, feature, seed }: Pick<Instance, "project" | "feature" | "seed">): Request[][] {
  const rng = createRng(seed);
  return range(STREAMS).map(() =>
    drawStream(project, rng, { favoured: [feature] }).filter(({ name }) => name !== "journal"),
  );
}

/** Streams in which the feature is not asked for. */
export function oldStreamsOf({ project, feature, seed }: Pick<Instance, "project" | "feature" | "seed">): Request[][] {
  const rng = createRng(seed + 1);
  const others = without(project, feature);
  return range(OLDS).map(() => drawStream(others, rng));
}

export function textOf(feature: string): FeatureText {
  const found = FEATURES.find(({ id }) => id === feature);
  if (found === undefined) throw new RangeError(`no feature ${feature}`);
  return found;
}

/** The name of its command. */
export function commandOf(project: Project, feature: string): string {
  return worded(/`([^`]+)`/u.exec(textOf(feature).command)?.[1] ?? feature, project);
}
