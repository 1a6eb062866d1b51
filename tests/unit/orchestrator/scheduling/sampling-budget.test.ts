import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SamplingBudget, type SamplingBudgetOptions } from "../../../../ts/orchestrator/scheduling/sampling-budget.ts";
import { BatchQueue } from "../../../../ts/orchestrator/batch/batch-queue.ts";
import type { Group } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import { DROP_REASONS, type DropReason, Lifecycle } from "../../../../ts/orchestrator/scheduling/lifecycle.ts";
import { IS_LONG } from "../../../support/form.ts";

/** What is true of the schedule, kept as plain lists. */
interface Model {
  version: number;
  shipped: number;
  groups: { index: number; version: number; rollouts: number; state: string; units: number }[];
  batch: number[] | null;
}

/** The parts that decide, connected as in the orchestrator, but without sampling. */
interface Real {
  options: SamplingBudgetOptions;
  admission: SamplingBudget;
  lifecycle: Lifecycle;
  queue: BatchQueue;
  groups: Map<number, Group>;
  sizes: readonly number[];
  window: number;
}

const isOpen = ({ state }: { state: string }) => state === "open";
const waits = ({ state }: { state: string }) => state === "completed";
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function make(options: SamplingBudgetOptions, sizes: readonly number[], window: number): { model: Model; real: Real } {
  const admission = new SamplingBudget(options, 0);
  const queue = new BatchQueue(admission, { level: options.level, window });
  return {
    model: { version: 0, shipped: 0, groups: [], batch: null },
    real: { options, admission, lifecycle: new Lifecycle(), queue, groups: new Map(), sizes, window },
  };
}

/** What the model says of the real parts, after every command. */
function check(model: Model, { options, admission, lifecycle, queue }: Real): void {
  const live = model.groups.filter(({ state }) => ["open", "completed", "assembled"].includes(state));
  const { level, batchSize, maxSteps, oversampling, unit } = options;
  if (unit === "rollouts") {
    expect(admission.held).toBe(sum(live.map(({ rollouts }) => rollouts)));
    const bound = (Math.min(model.version + level + 1, maxSteps) - model.shipped) * batchSize;
    const extra = model.shipped - model.version <= level ? Math.ceil((oversampling - 1) * batchSize) : 0;
    expect(admission.mayOpen()).toBe(admission.held < bound + extra);
  } else if (live.length === 0) expect(admission.held).toBe(0);
  expect(lifecycle.open).toBe(model.groups.filter(isOpen).length);
  expect(lifecycle.groups.completed).toBe(model.groups.filter(waits).length);
  expect(queue.size).toBe(model.groups.filter(waits).length);
  expect(lifecycle.groups.assembled).toBe(model.batch?.length ?? 0);
  expect(sum(DROP_REASONS.map((reason) => lifecycle.dropped[reason]))).toBe(lifecycle.groups.dropped);
  const { groups } = lifecycle;
  expect(sum(Object.values(groups))).toBe(model.groups.length);
  expect(lifecycle.inFlight).toBe(sum(model.groups.filter(isOpen).map(({ rollouts }) => rollouts)));
}

class Open implements fc.Command<Model, Real> {
  readonly most: number;
  constructor(most: number) {
    this.most = most;
  }
  check = () => true;
  run(model: Model, real: Real): void {
    for (let i = 0; i < this.most && real.admission.mayOpen(); i++) {
      const index = model.groups.length;
      const rollouts = real.sizes[index % real.sizes.length] ?? 1;
      const task = { source: "s", task: { key: "", hash: "", data: null }, epoch: 0, groupSize: rollouts };
      const group = { index, id: "", task: { ...task, scoresGroups: false }, dispatchVersion: model.version };
      real.groups.set(index, { ...group, oldestVersion: model.version, firstIndex: index, seconds: 0, rollouts: [] });
      real.lifecycle.dispatch(index, rollouts);
      real.admission.opened(index, rollouts);
      model.groups.push({ index, version: model.version, rollouts, state: "open", units: 0 });
    }
    check(model, real);
  }
  toString = () => `open up to ${this.most}`;
}

class End implements fc.Command<Model, Real> {
  readonly which: number;
  readonly tokens: number;
  readonly reason: DropReason | null;
  constructor(which: number, tokens: number, reason: DropReason | null) {
    this.which = which;
    this.tokens = tokens;
    this.reason = reason;
  }
  check = ({ groups }: Readonly<Model>) => groups.some(isOpen);
  run(model: Model, real: Real): void {
    const open = model.groups.filter(isOpen);
    const own = open[this.which % open.length];
    const group = real.groups.get(own?.index ?? -1);
    if (own === undefined || group === undefined) throw new Error("no group");
    for (let i = 0; i < own.rollouts; i++) real.lifecycle.returned("ok");
    real.lifecycle.move(own.index, "scoring");
    real.lifecycle.move(own.index, "completed");
    own.units = real.admission.sizeOf(own.rollouts, this.tokens * own.rollouts);
    real.admission.ended(own.index, own.units, this.tokens > 0 ? own.rollouts : 0);
    own.state = this.reason === null ? "completed" : "dropped";
    if (this.reason === null) real.queue.push(group, own.units);
    else {
      real.lifecycle.drop(own.index, this.reason);
      real.admission.dropped(own.index, false);
    }
    check(model, real);
  }
  toString = () => `end ${this.which} with ${this.tokens} tokens${this.reason === null ? "" : `, ${this.reason}`}`;
}

class AssembledBatch implements fc.Command<Model, Real> {
  check = ({ batch }: Readonly<Model>) => batch === null;
  run(model: Model, real: Real): void {
    const { level, batchSize } = real.options;
    const oldest = model.groups.find(isOpen)?.index;
    const groups = real.queue.takeBatch(oldest);
    const waiting = model.groups.filter(waits).filter(({ index }) => index < (oldest ?? Infinity) + real.window);
    const isFresh = model.shipped - model.version <= level;
    if (groups === undefined) {
      const enough = sum(waiting.map(({ units }) => units)) >= batchSize;
      if (level > 0) expect(isFresh && enough).toBe(false);
      return check(model, real);
    }
    // The ship gate, whole batches, nothing from beyond the window.
    expect(isFresh).toBe(true);
    const chosen = groups.map(({ index }) => model.groups[index]);
    const units = chosen.map((own) => own?.units ?? Number.NaN);
    expect(sum(units)).toBeGreaterThanOrEqual(batchSize);
    if (level > 0) expect(sum(units.slice(0, -1))).toBeLessThan(batchSize);
    else {
      expect(oldest).toBeUndefined();
      expect(groups.map(({ index }) => index)).toEqual(waiting.map(({ index }) => index));
    }
    for (const own of chosen) {
      expect(waiting).toContain(own);
      if (own !== undefined) own.state = "assembled";
    }
    for (const { index } of groups) real.lifecycle.move(index, "assembled");
    model.batch = groups.map(({ index }) => index);
    check(model, real);
  }
  toString = () => "assembled";
}

class Ship implements fc.Command<Model, Real> {
  readonly isEmpty: boolean;
  constructor(isEmpty: boolean) {
    this.isEmpty = isEmpty;
  }
  check = ({ batch }: Readonly<Model>) => batch !== null;
  run(model: Model, real: Real): void {
    for (const index of model.batch ?? []) {
      if (this.isEmpty) {
        real.lifecycle.drop(index, "empty");
        real.admission.dropped(index, false);
      } else real.lifecycle.move(index, "shipped");
      const own = model.groups[index];
      if (own !== undefined) own.state = "ended";
    }
    if (!this.isEmpty) {
      real.admission.shipped(model.batch ?? []);
      model.shipped++;
    }
    model.batch = null;
    check(model, real);
  }
  toString = () => (this.isEmpty ? "the batch is empty" : "ship");
}

class Publish implements fc.Command<Model, Real> {
  check = ({ version, shipped }: Readonly<Model>) => version < shipped;
  run(model: Model, real: Real): void {
    real.admission.version = ++model.version;
    check(model, real);
  }
  toString = () => "publish";
}

class DropOlder implements fc.Command<Model, Real> {
  readonly by: number;
  constructor(by: number) {
    this.by = by;
  }
  check = () => true;
  run(model: Model, real: Real): void {
    const oldest = model.version - this.by;
    const waiting = real.queue.takeOlderThan(oldest).map(({ index }) => index);
    expect(waiting).toEqual(
      model.groups
        .filter((own) => waits(own) && own.version < oldest)
        .map(({ index }) => index)
        .toSorted(byQueue(waiting)),
    );
    const open = model.groups.filter((own) => isOpen(own) && own.version < oldest).map(({ index }) => index);
    for (const index of [...open, ...waiting]) {
      const own = model.groups[index];
      if (own === undefined) throw new Error("no group");
      if (isOpen(own)) for (let i = 0; i < own.rollouts; i++) real.lifecycle.returned("cancelled");
      real.lifecycle.drop(index, "stale");
      real.admission.dropped(index, isOpen(own));
      own.state = "ended";
    }
    check(model, real);
  }
  toString = () => `drop what is more than ${this.by} versions old`;
}

const byQueue = (order: readonly number[]) => (a: number, b: number) => order.indexOf(a) - order.indexOf(b);

const commands = [
  fc.integer({ min: 1, max: 9 }).map((most) => new Open(most)),
  fc.integer({ min: 1, max: 9 }).map((most) => new Open(most)),
  fc
    .tuple(fc.nat(), fc.integer({ min: 0, max: 40 }), fc.constantFrom(null, null, null, "errored", "rejected"))
    .map(([which, tokens, reason]) => new End(which, tokens, reason as DropReason | null)),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 40 })).map(([which, tokens]) => new End(which, tokens, null)),
  fc.constant(new AssembledBatch()),
  fc.constantFrom(false, false, false, true).map((isEmpty) => new Ship(isEmpty)),
  fc.constant(new Publish()),
  fc.integer({ min: 0, max: 4 }).map((by) => new DropOlder(by)),
];

describe("groups that are opened, wait, are assembled and dropped", () => {
  const options = fc.record({
    unit: fc.constantFrom("rollouts" as const, "tokens" as const),
    batchSize: fc.constantFrom(8, 24),
    level: fc.integer({ min: 0, max: 3 }),
    maxSteps: fc.constantFrom(5, Infinity),
    oversampling: fc.constantFrom(1, 1.25, 2),
    mostTokens: fc.constantFrom(1, 16, 64),
  });

  test("follows a model of plain lists under any order of events", () => {
    const property = fc.property(
      options,
      fc.constantFrom([2], [4], [2, 8], [1, 3]),
      fc.constantFrom(1, 3, Infinity),
      fc.commands(commands, { maxCommands: 120 }),
      (given, sizes, window, events) =>
        fc.modelRun(() => make(given.level === 0 ? { ...given, oversampling: 1 } : given, sizes, window), events),
    );
    fc.assert(property, { numRuns: IS_LONG ? 20_000 : 1_000 });
  });
});

describe("batches counted in tokens", () => {
  const made = (level: number, state = { units: 0, rollouts: 0 }) =>
    new SamplingBudget(
      { unit: "tokens", batchSize: 1000, level, maxSteps: Infinity, oversampling: 1, mostTokens: 100 },
      0,
      state,
    );
  const open = (admission: SamplingBudget, from: number): number => {
    let index = from;
    while (admission.mayOpen()) admission.opened(index++, 1);
    return index - from;
  };

  test("rollouts count as the longest possible until one has ended, then as they have been", () => {
    const admission = made(1);
    expect(open(admission, 0)).toBe(20);
    admission.ended(0, 10, 1);
    // 19 * 100 + 10 are held; the next one is expected to have 10 tokens.
    expect(open(admission, 20)).toBe(9);
    for (let group = 1; group < 29; group++) admission.ended(group, 10, 1);
    expect(admission.held).toBe(290);
    expect(open(admission, 29)).toBe(171);
  });

  test("the state after a batch knows the groups of batches up to it, and no group that is sampled again", () => {
    const batches = fc.array(fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 }), {
      maxLength: 5,
    });
    const property = fc.property(batches, batches, fc.nat(3), (shipped, waiting, ahead) => {
      const admission = made(ahead);
      const step = Math.max(0, shipped.length - ahead);
      const continued = made(ahead);
      let index = 0;
      const end = (budget: SamplingBudget, groups: readonly number[]): number[] =>
        groups.map((tokens) => {
          budget.opened(index, 1);
          budget.ended(index, tokens, 1);
          return index++;
        });
      for (const groups of waiting) end(admission, groups);
      for (const groups of shipped) admission.shipped(end(admission, groups));
      for (const groups of shipped.slice(0, step)) continued.shipped(end(continued, groups));
      expect(admission.stateAfter(step)).toEqual(continued.stateAfter(step));
      admission.version = step;
      expect(admission.stateAfter(step)).toEqual(continued.stateAfter(step));
    });
    fc.assert(property);
  });

  test("at level 0 nothing is decided before all that was opened has ended, whatever the order", () => {
    const opened = [1, -1].map((order) => {
      const admission = made(0);
      const counts = [];
      for (let from = 0; ;) {
        const count = open(admission, from);
        if (count === 0) return [counts, admission.held, admission.stateAfter(0)];
        counts.push(count);
        const groups = Array.from({ length: count }, (_, i) => from + i);
        for (const group of order > 0 ? groups : groups.toReversed()) {
          if (group > from) expect(admission.mayOpen()).toBe(false);
          admission.ended(group, 30 + (group % 7), 1);
        }
        from += count;
      }
    });
    expect(opened[0]).toEqual(opened[1]);
    const [counts, held] = opened[0] ?? [];
    expect(counts).toEqual([10, 21]);
    expect(held).toBeGreaterThanOrEqual(1000);
    expect(held).toBeLessThan(1040);
  });
});

describe("a step that there is not", () => {
  const begun = () => {
    const lifecycle = new Lifecycle();
    lifecycle.dispatch(0, 2);
    return lifecycle;
  };

  test.each<[string, (lifecycle: Lifecycle) => void]>([
    ["a group begun twice", (lifecycle) => lifecycle.dispatch(0, 2)],
    ["completed without having been scored", (lifecycle) => lifecycle.move(0, "completed")],
    ["cut while it is sampled", (lifecycle) => lifecycle.move(0, "assembled")],
    ["one that was not begun", (lifecycle) => lifecycle.move(1, "scoring")],
    [
      "dropped twice",
      (lifecycle) => {
        lifecycle.drop(0, "stale");
        lifecycle.drop(0, "surplus");
      },
    ],
    [
      "a rollout that comes back twice",
      (lifecycle) => {
        for (let i = 0; i < 3; i++) lifecycle.returned("ok");
      },
    ],
  ])("is PRL_ORCHESTRATOR_FAULT: %s", (_, act) => {
    expect(() => act(begun())).toThrow(expect.objectContaining({ code: "PRL_ORCHESTRATOR_FAULT" }));
  });
});
