/**
 * The supervision of a run beside a model: processes are killed, hang, fail and end in any order, alone and together, in virtual time. The model is a list
 * of losses for each process, and knows back-off, budget and limits as ts/launcher/README.md describes them.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { IS_LONG } from "../../../support/form.ts";
import { HOLDERS, type Name, type RunOptions, type Started, SupervisedRun, WORKERS } from "./supervised-run.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const LONG_LIFE_MS = 30_000;
const MOST_IN_A_ROW = 10;
const MOST_IN_WINDOW = 60;
const FLEET_WINDOW_MS = 600_000;
const SILENCE_MS = 30_000;
const START_MS = 180_000;
const STOP_MS = 9_000;
/** Heartbeats and looks of the supervisor are a second apart. */
const LOOK_MS = 1_100;
/** An exit is noticed, and a program begins, within some milliseconds each. */
const BEGINS_MS = 100;
const NAMES: readonly Name[] = [...HOLDERS, ...WORKERS];

/** How a process ends, and what the error of a run that ends with it says. */
const WAYS = {
  "is killed": "ended unexpectedly: signal SIGKILL",
  "is asked to stop": "ended unexpectedly: exit code 143",
  hangs: "gave no sign of life for 30 s;",
  "hangs at its start": "gave no sign of life for 180 s while it started;",
  "gets no memory": "so it is",
  "fails without a note": "ended unexpectedly: exit code 3",
  "fails with a note": "so it is",
} as const;
type Way = keyof typeof WAYS;

/** One process of the run, and those before it in its place. */
interface Place {
  /** Times of the losses that were made good. */
  readonly losses: number[];
  inARow: number;
  /** The furthest step when its process was started. */
  furthest: number;
  /** Its process has ended with 0. */
  isDone: boolean;
}

interface Model {
  readonly options: RunOptions;
  readonly places: ReadonlyMap<string, Place>;
  readonly furthest: Map<string, number>;
  hasEnded: boolean;
}

const kindOf = (name: string) => name.replace(/-\d$/u, "");
const isHolder = (name: string) => HOLDERS.some((one) => one === name);
const furthestOf = ({ furthest }: Model, name: string) =>
  furthest.get(isHolder(name) ? kindOf(name) : "orchestrator") ?? -1;

function modelOf(options: RunOptions): Model {
  const idle = (): Place => ({ losses: [], inARow: 0, furthest: -1, isDone: false });
  return { options, places: new Map(NAMES.map((name) => [name, idle()])), furthest: new Map(), hasEnded: false };
}

function placeOf({ places }: Model, name: string): Place {
  const place = places.get(name);
  if (place === undefined) throw new Error(`there is no ${name}`);
  return place;
}

const recentOf = ({ losses }: Place, at: number, windowMs: number) =>
  losses.filter((time) => at - time < windowMs).length;

/** Counts a loss that is made good; returns the pause before the next start. */
function pauseAfter(place: Place, at: number, wasUseful: boolean): number {
  place.losses.push(at);
  place.inARow = wasUseful ? 1 : place.inARow + 1;
  return place.inARow === 1 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (place.inARow - 2));
}

/** Unless the run has ended, the next process of a place was started `pauseMs` after that time. */
function expectStart(run: SupervisedRun, name: string, at: number, pauseMs: number): void {
  if (run.outcome !== null) return;
  const ms = (run.started.get(name)?.find((one) => one.at > at)?.at ?? Infinity) - at;
  expect(ms, `${name} is started after ${pauseMs} ms`).toSatisfy(() => ms >= pauseMs && ms <= pauseMs + BEGINS_MS);
}

function begin(run: SupervisedRun, name: Name, way: Way): void {
  const { process, exit } = run.now(name);
  if (way === "is killed") run.world.signal(process, "SIGKILL");
  else if (way === "hangs") run.world.signal(process, "SIGSTOP");
  else if (way === "is asked to stop") exit(143);
  else if (way === "fails without a note") exit(3);
  else {
    run.noteFailure(name, way === "gets no memory" ? "PRL_MEMORY" : "PRL_IO");
    exit(1);
  }
}

/** The budget has counted the loss of a process that holds the run's state; returns whether it is made good. */
function followHolder(model: Model, run: SupervisedRun, { kind, at, wasUseful, allowance }: SupervisedRun["taken"][0]) {
  const { limits, replaces } = model.options;
  const name = `${kind}-0`;
  const place = placeOf(model, name);
  const isUseful = furthestOf(model, name) > place.furthest;
  expect(wasUseful).toBe(isUseful);
  const recent = recentOf(place, at, limits.windowMs);
  if (recent >= limits.most) {
    expect(allowance).toBeNull();
    return false;
  }
  const wasLong = at - (place.losses.at(-1) ?? -Infinity) >= LONG_LIFE_MS;
  const pauseMs = pauseAfter(place, at, isUseful || wasLong);
  expect(allowance).toEqual({ pauseMs, losses: recent + 1 });
  for (const again of replaces ? [name] : HOLDERS) {
    expectStart(run, again, at, pauseMs);
    Object.assign(placeOf(model, again), { furthest: furthestOf(model, again), isDone: false });
  }
  return true;
}

/** An env worker was lost at that time; returns whether it is made good. */
function followWorker(model: Model, run: SupervisedRun, name: string, at: number): boolean {
  const place = placeOf(model, name);
  const lost = run.started.get(name)?.findLast((one) => one.at < at);
  const wasLong = at - (lost?.begunAt ?? 0) >= LONG_LIFE_MS;
  const isUseful = lost?.isReady === true && furthestOf(model, name) > place.furthest;
  const pauseMs = pauseAfter(place, at, wasLong || isUseful);
  if (place.inARow > MOST_IN_A_ROW || recentOf(place, at, FLEET_WINDOW_MS) > MOST_IN_WINDOW) return false;
  expectStart(run, name, at, pauseMs);
  place.furthest = furthestOf(model, name);
  return true;
}

interface Loss {
  names: readonly Name[];
  way: Way;
  /** When it began. */
  from: number;
  /** Silence before it counts as a loss. */
  silenceMs: number;
}

/** Follows the losses of some processes to their end, which is the run's or the start of what takes their place. */
async function follow(model: Model, run: SupervisedRun, { names, way, from, silenceMs }: Loss): Promise<void> {
  const goesBack = !model.options.replaces && names.some(isHolder);
  const restarted = new Set<Name>(goesBack ? [...HOLDERS, ...names] : names);
  const before = new Map([...restarted].map((name) => [name, run.now(name)]));
  const [takenBefore, restartsBefore] = [run.taken.length, run.restarts.length];
  if (way !== "hangs at its start") for (const name of names) begin(run, name, way);
  const isAgain = ([name, earlier]: [Name, Started]) =>
    run.now(name) !== earlier && (run.isUp(name) || run.now(name).process.state === "stopped");
  await run.settled(() => [...before].every(isAgain));

  const at = (name: string, fallback: number) =>
    run.restarts.slice(restartsBefore).find(({ index }) => name === `env-worker-${index}`)?.at ?? fallback;
  const taken = run.taken.slice(takenBefore);
  const fates = [
    ...taken.map((one) => ({ name: `${one.kind}-0`, at: one.at, isGood: () => followHolder(model, run, one) })),
    ...names
      .filter((name) => !isHolder(name))
      .map((name) => ({ name, at: at(name, run.outcome?.at ?? 0) }))
      .map((one) => ({ ...one, isGood: () => followWorker(model, run, one.name, one.at) })),
  ].toSorted((a, b) => a.at - b.at);
  for (const { at: lostAt } of fates)
    expect(lostAt - from).toSatisfy((ms) => ms > silenceMs - LOOK_MS && ms < silenceMs + 2 * LOOK_MS);
  const refused = fates.filter(({ isGood }) => !isGood()).map(({ name }) => name);
  const culprits = way.startsWith("fails") ? [...refused, ...names.filter(isHolder)] : refused;
  if (culprits.length > 0) return expectEnd(model, run, culprits, way);
  expect(run.outcome).toBeNull();
  const alive = run.world.processes.filter(({ state }) => state !== "dead").map(({ name }) => name);
  expect(new Set(alive).size).toBe(alive.length);
  expect(fates.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
}

/** The run has failed with an error that names one of the processes, how it ended, and where its budget is spent that. */
function expectEnd(model: Model, run: SupervisedRun, names: readonly string[], way: Way): void {
  model.hasEnded = true;
  const { code, message = "" } = (run.outcome?.error ?? {}) as { code?: string; message?: string };
  // A fleet reads no notes, but the error of the run does.
  const noted = new Map<Way, string>([
    ["gets no memory", "PRL_MEMORY"],
    ["fails with a note", "PRL_IO"],
  ]).get(way);
  expect([code, message]).toEqual([noted ?? "PRL_PROCESS_DIED", expect.stringContaining(WAYS[way])]);
  const name = /^[a-z-]+-\d/u.exec(message)?.[0] ?? "";
  expect(names).toContain(name);
  const { most, windowMs } = model.options.limits;
  if (!isHolder(name) || noted !== undefined) return;
  const spent = `${kindOf(name)} was started again ${most} time${most === 1 ? "" : "s"} within ${windowMs / 1000} s already`;
  expect(message.includes(spent)).toBe(run.budget.isSpent(kindOf(name)) && most > 0);
  expect(message).toContain("go on with --resume");
}

type Command = fc.AsyncCommand<Model, SupervisedRun>;
type Act = (model: Model, run: SupervisedRun) => Promise<void>;

const command = (text: string, act: Act, check: (model: Readonly<Model>) => boolean = () => true): Command => ({
  check: (model) => !model.hasEnded && check(model),
  run: act,
  toString: () => text,
});
const areAtWork = (names: readonly Name[]) => (model: Readonly<Model>) =>
  names.every((name) => !placeOf(model, name).isDone) &&
  // Which of two that are lost at once is noticed first decides whether the other one counts.
  (model.options.replaces || names.filter(isHolder).length < 2);

const losing = (names: readonly Name[], way: Way) =>
  command(
    `${names.join(" and ")} ${way}`,
    async (model, run) => {
      const silenceMs = way === "hangs" ? SILENCE_MS : 0;
      await follow(model, run, { names, way, from: run.world.now, silenceMs });
    },
    areAtWork(names),
  );

const hangingAtStart = (name: Name) =>
  command(
    `${name} is killed, and the next one hangs at its start`,
    async (model, run) => {
      run.hangsAtStart.add(name);
      await follow(model, run, { names: [name], way: "is killed", from: run.world.now, silenceMs: 0 });
      if (model.hasEnded) return;
      const from = run.now(name).at;
      await follow(model, run, { names: [name], way: "hangs at its start", from, silenceMs: START_MS });
    },
    areAtWork([name]),
  );

/** A crash loop, with progress before each crash or without. */
const crashing = (name: Name, times: number, isUseful: boolean) =>
  command(
    `${name} is killed ${times} times${isUseful ? ", the run comes further in between" : ""}`,
    async (model, run) => {
      for (let i = 0; i < times && !model.hasEnded; i++) {
        if (isUseful) progress(model, run, isHolder(name) ? kindOf(name) : "orchestrator");
        await follow(model, run, { names: [name], way: "is killed", from: run.world.now, silenceMs: 0 });
      }
    },
    areAtWork([name]),
  );

function progress(model: Model, { supervisor }: SupervisedRun, component: string): void {
  const step = (model.furthest.get(component) ?? -1) + 1;
  model.furthest.set(component, step);
  supervisor?.furthest.note({ component, step });
}

const ending = (name: Name) =>
  command(
    `${name} is done`,
    async (model, run) => {
      placeOf(model, name).isDone = true;
      run.now(name).exit(0);
      await run.wait(BEGINS_MS);
      const isOver = HOLDERS.every((one) => placeOf(model, one).isDone);
      model.hasEnded = isOver;
      expect(run.outcome === null ? null : run.outcome.error).toBe(isOver ? undefined : null);
    },
    areAtWork([name]),
  );

const anyName = fc.constantFrom(...NAMES);
const holder = fc.constantFrom(...HOLDERS);
const commands = [
  fc
    .tuple(anyName, fc.constantFrom("is killed", "is asked to stop", "hangs", "gets no memory"))
    .map(([name, way]) => losing([name], way as Way)),
  fc.subarray([...NAMES], { minLength: 2 }).map((names) => losing(names, "is killed")),
  fc.subarray([...NAMES], { minLength: 2 }).map((names) => losing(names, "hangs")),
  anyName.map(hangingAtStart),
  fc
    .tuple(anyName, fc.constantFrom("fails without a note", "fails with a note"))
    .map(([name, way]) => losing([name], way as Way)),
  fc.tuple(anyName, fc.integer({ min: 2, max: 13 }), fc.boolean()).map((args) => crashing(...args)),
  fc.tuple(fc.constantFrom(...WORKERS), fc.constant(62), fc.constant(true)).map((args) => crashing(...args)),
  holder.map(ending),
  holder.map((name) =>
    command(`${name} brings the run further`, async (model, run) => progress(model, run, kindOf(name))),
  ),
  holder.map((name) =>
    command(`${name} does a step again`, async ({ furthest }, { supervisor }) => {
      const step = furthest.get(kindOf(name));
      if (step !== undefined) supervisor?.furthest.note({ component: kindOf(name), step });
    }),
  ),
  fc.constantFrom(1_000, 29_000, 31_000, 100_000).map((ms) =>
    command(`${ms} ms pass`, async (_model, run) => {
      const before = run.world.processes.length;
      await run.wait(ms);
      expect([run.outcome, run.world.processes.length]).toEqual([null, before]);
    }),
  ),
];

test("follows a model of plain lists, whatever becomes of processes, and leaves none behind", async () => {
  const options = fc.record({
    limits: fc.record({ most: fc.integer({ min: 0, max: 5 }), windowMs: fc.constantFrom(60_000, 400_000) }),
    replaces: fc.boolean(),
  });
  const property = fc.asyncProperty(
    fc.nat(),
    options,
    fc.boolean(),
    fc.commands(commands, { maxCommands: 25 }),
    async (seed, given, isDeaf, sequence) => {
      const run = new SupervisedRun(seed, given);
      try {
        await run.settled(() => NAMES.every((name) => run.isUp(name)));
        await fc.asyncModelRun(() => ({ model: modelOf(given), real: run }), sequence);
        // One that stands still does not end when it is asked to.
        if (isDeaf && run.outcome === null) run.world.signal(run.now("env-worker-0").process, "SIGSTOP");
        const { ms, left } = await run.stop();
        expect(left).toEqual([]);
        expect(ms).toBeLessThanOrEqual(STOP_MS);
      } finally {
        run.remove();
      }
    },
  );
  await fc.assert(property, { numRuns: IS_LONG ? 2_000 : 60 });
});
