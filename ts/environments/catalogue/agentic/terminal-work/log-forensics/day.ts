/** A day of several services: requests with calls, changes, noise, and one change that makes some requests fail from then on. */
import { between, sample, shuffled } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { distinct, word } from "../../../../builtin/words.ts";
import { at, range } from "../../../lists.ts";
import type { Level } from "../../../row.ts";

export interface Service {
  readonly name: string;
  readonly style: "json" | "words";
  /** Seconds by which its clock is ahead. */
  readonly ahead: number;
}

/** Calls of one kind of request: each names its service and the call that made it; the first is that of the gateway. */
export interface Kind {
  readonly path: string;
  readonly calls: readonly { readonly service: number; readonly by: number }[];
}

export interface Request {
  readonly id: string;
  /** Seconds of the day. */
  readonly at: number;
  readonly kind: number;
  readonly tenant: string;
  /** The call that failed by itself, and how. */
  readonly failure: { readonly call: number; readonly code: string; readonly isTolerated: boolean } | null;
}

export interface Change {
  readonly id: string;
  readonly at: number;
  readonly service: number;
  readonly what: string;
}

export interface Day {
  readonly date: string;
  readonly folder: string;
  readonly services: readonly Service[];
  readonly kinds: readonly Kind[];
  readonly requests: readonly Request[];
  readonly changes: readonly Change[];
  /** Files of a service; the older one has the lines until `turned`. */
  readonly files: 1 | 2;
  /** Seconds of the day: some time after the first failure of the incident, so that it is in the older file, and the time does not tell it. */
  readonly turned: number;
  readonly cause: {
    readonly service: number;
    readonly code: string;
    readonly change: string;
    readonly request: string;
  };
}

/** By level. */
const SIZES = [
  { requests: 70, services: 4, kinds: 3, changes: 4, noises: 1, ahead: 0, tolerated: false, files: 1 },
  { requests: 120, services: 5, kinds: 4, changes: 7, noises: 2, ahead: 0, tolerated: true, files: 1 },
  { requests: 200, services: 6, kinds: 5, changes: 10, noises: 3, ahead: 900, tolerated: true, files: 1 },
  { requests: 330, services: 8, kinds: 6, changes: 15, noises: 4, ahead: 1_500, tolerated: true, files: 2 },
  { requests: 520, services: 10, kinds: 8, changes: 22, noises: 6, ahead: 2_400, tolerated: true, files: 2 },
] as const;

const DAY_S = 86_400;
/** From the first failure of the incident to new files. */
const [LEAST_TURN_S, MOST_TURN_S] = [900, 18_000];
/** Noise begins before this share of the day, the incident after the other. */
const [EARLY, LATE] = [0.2, 0.4];
const CHANGES = ["release", "configuration", "limit raised", "certificate renewed", "restart", "index rebuilt"];
const MOST_DEPTH = 4;

export function drawDay(rng: Rng, level: Level): Day | null {
  const size = at(SIZES, level - 1);
  const names = distinct(size.services + size.kinds + 4, () => word(rng));
  const services = range(size.services).map((index): Service => ({
    name: at(names, index),
    style: level > 1 && rng.integer(2) === 0 ? "json" : "words",
    ahead: size.ahead === 0 ? 0 : between(rng, -size.ahead, size.ahead),
  }));
  const kinds = range(size.kinds).map((index) => ({
    path: `/${at(names, size.services + index)}`,
    calls: callsOf(size.services, level, rng),
  }));
  const tenants = names.slice(-3);
  const times = distinct(size.requests, () => String(between(rng, 60, DAY_S - 60)))
    .map(Number)
    .toSorted((a, b) => a - b);
  const ids = distinct(size.requests, () => `r-${(2 ** 24 + rng.integer(2 ** 28)).toString(16)}`);
  const plain = times.map((time, index): Request => ({
    id: at(ids, index),
    at: time,
    kind: rng.integer(size.kinds),
    tenant: rng.pick(tenants),
    failure: null,
  }));
  const codes = distinct(size.noises + 1, () => `E${between(rng, 100, 999)}`);
  const failing = incidentIn(plain, kinds, at(codes, 0), rng);
  if (failing === null) return null;
  const noisy = withNoise(failing.requests, { kinds, codes: codes.slice(1), isTolerated: size.tolerated, rng });
  if (noisy === null) return null;
  const { cause, first } = failing;
  const changes = changesOf({ count: size.changes, service: cause.service, first, services, rng });
  // Nothing that the change breaks succeeds after it.
  const isLate = ({ at: time, kind, tenant }: Request): boolean =>
    changes.cause.at <= time && time < first.at && kind === first.kind && tenant === first.tenant;
  if (plain.some(isLate)) return null;
  return {
    date: `20${between(rng, 24, 29)}-0${between(rng, 1, 9)}-${between(rng, 10, 28)}`,
    folder: at(names, names.length - 4),
    services,
    kinds,
    requests: noisy,
    changes: changes.all,
    files: size.files,
    turned: first.at + between(rng, LEAST_TURN_S, MOST_TURN_S),
    cause: { ...cause, change: changes.cause.id },
  };
}

/** A tree of calls below the gateway, service 0. A service does not call itself. */
function callsOf(services: number, level: Level, rng: Rng): Kind["calls"] {
  const calls = [{ service: 0, by: -1, depth: 0 }];
  for (const _ of range(between(rng, 2, 2 + level))) {
    const by = rng.integer(calls.length);
    const { service, depth } = at(calls, by);
    const next = between(rng, 1, services - 1);
    if (next !== service && depth < MOST_DEPTH) calls.push({ service: next, by, depth: depth + 1 });
  }
  return calls.map(({ service, by }) => ({ service, by }));
}

interface Incident {
  readonly requests: readonly Request[];
  readonly first: Request;
  readonly cause: Omit<Day["cause"], "change">;
}

/** Requests of one tenant that make a certain call fail from a time on. */
function incidentIn(requests: readonly Request[], kinds: readonly Kind[], code: string, rng: Rng): Incident | null {
  const from = Math.floor(DAY_S * (LATE + 0.2 * rng.next()));
  const kind = rng.integer(kinds.length);
  const { calls } = at(kinds, kind);
  const deep = range(calls.length).filter((index) => index > 0 && at(calls, index).by >= 0);
  if (deep.length === 0) return null;
  const call = rng.pick(deep);
  const { tenant } = rng.pick(requests);
  const changed = requests.map((one) =>
    one.at >= from && one.kind === kind && one.tenant === tenant
      ? { ...one, failure: { call, code, isTolerated: false } }
      : one,
  );
  const failed = changed.filter(({ failure }) => failure !== null);
  const [first] = failed;
  if (first === undefined || failed.length < 3) return null;
  return { requests: changed, first, cause: { service: at(calls, call).service, code, request: first.id } };
}

interface NoiseDraw {
  readonly kinds: readonly Kind[];
  readonly codes: readonly string[];
  readonly isTolerated: boolean;
  readonly rng: Rng;
}

/** Failures of other calls all day long, more often than those of the incident. */
function withNoise(requests: readonly Request[], { kinds, codes, isTolerated, rng }: NoiseDraw): Request[] | null {
  const all = [...requests];
  const failed = requests.filter(({ failure }) => failure !== null).length;
  for (const code of codes) {
    const kind = rng.integer(kinds.length);
    const call = between(rng, 1, Math.max(1, at(kinds, kind).calls.length - 1));
    if (call >= at(kinds, kind).calls.length) return null;
    const fitting = range(all.length).filter(
      (index) => at(all, index).kind === kind && at(all, index).failure === null,
    );
    const early = fitting.filter((index) => at(all, index).at < EARLY * DAY_S);
    if (early.length < 2) return null;
    const hit = new Set([...early.slice(0, 2), ...sample(fitting, failed + between(rng, 1, 4), rng)]);
    if (hit.size <= failed) return null;
    for (const index of hit) {
      const failure = { call, code, isTolerated: isTolerated && rng.integer(2) === 0 };
      all[index] = { ...at(all, index), failure };
    }
  }
  return all;
}

interface ChangeDraw {
  readonly count: number;
  readonly service: number;
  readonly first: Request;
  readonly services: readonly Service[];
  readonly rng: Rng;
}

/** The cause, changes of its service before it and soon after the first failure, and changes of others, one of them nearer to that failure. */
function changesOf({ count, service, first, services, rng }: ChangeDraw): { all: Change[]; cause: Change } {
  const ids = distinct(count + 4, () => `c-${between(rng, 1000, 9999)}`);
  const change = (index: number, time: number, of: number): Change => ({
    id: at(ids, index),
    at: Math.max(1, Math.min(DAY_S - 1, Math.floor(time))),
    service: of,
    what: rng.pick(CHANGES),
  });
  const others = range(services.length).filter((one) => one !== service);
  // A clock that is not corrected moves the failure beyond one of these.
  const near = Math.max(30, Math.abs(at(services, service).ahead) / 2);
  const cause = change(0, first.at - near * (0.6 + 0.3 * rng.next()), service);
  const own = [
    change(1, cause.at - between(rng, 2_000, 9_000), service),
    change(2, first.at + near * (0.3 + 0.4 * rng.next()), service),
  ];
  const decoys = [
    change(3, first.at - between(rng, 2, 9), rng.pick(others)),
    ...range(count).map((index) => change(4 + index, between(rng, 100, DAY_S - 100), rng.pick(others))),
  ];
  return { all: shuffled([cause, ...own, ...decoys], rng).toSorted((a, b) => a.at - b.at), cause };
}
