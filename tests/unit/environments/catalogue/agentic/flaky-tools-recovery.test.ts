/** The worlds and the protocol of flaky-tools-recovery, over all fault schedules and against a second account of effects. */
import { describe, expect, test } from "vitest";

import {
  drawInstance,
  faultsOf,
  scheduleOf,
} from "../../../../../ts/environments/catalogue/agentic/flaky-tools-recovery/generator.ts";
import { passedParts, jobShare } from "../../../../../ts/environments/catalogue/agentic/flaky-tools-recovery/grade.ts";
import type {
  Instance,
  Request,
  Service,
} from "../../../../../ts/environments/catalogue/agentic/flaky-tools-recovery/instance.ts";
import { recovered } from "../../../../../ts/environments/catalogue/agentic/flaky-tools-recovery/recovery.ts";
import { World } from "../../../../../ts/environments/catalogue/agentic/flaky-tools-recovery/world.ts";
import { Refusal } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng, type Rng } from "../../../../../ts/random/rng.ts";
import { at, range } from "../../../../../ts/environments/catalogue/lists.ts";

const LEVELS = [1, 2, 3, 4, 5] as const;
const protocol = { name: "stock", lag: 3, settling: 11 };
const SERVICES: readonly Service[] = [
  { ...protocol, keyed: null, undoable: true },
  { ...protocol, keyed: null, undoable: false },
  { ...protocol, keyed: 20, undoable: true },
  { ...protocol, keyed: 20, undoable: false },
];

/** One job with one step, once for each schedule of this length. */
function* everySchedule(service: Service, length: number, declines: boolean): Generator<Instance> {
  const kinds = faultsOf(service, 6);
  for (let number = 0; number < (kinds.length + 1) ** length; number++) {
    const outcomes = scheduleOf(number, kinds, length);
    const step = { service: service.name, amount: 7, outcomes, declines };
    const jobs = [{ id: "job-1", steps: [step] }];
    const undoing = ["silent", "lost"] as const;
    yield { services: [service], jobs, earlier: [], undoing, names: ["fx-1"], deadline: 500, traps: [] };
  }
}

const CASES = SERVICES.flatMap((service) =>
  [false, true].filter((declines) => !declines || service.undoable).map((declines) => [service, declines] as const),
);

describe("the careful protocol", () => {
  test.each(CASES)("ends right under every schedule of up to four requests: %o, declined: %s", (service, declines) => {
    for (const length of [1, 2, 3, 4])
      for (const instance of everySchedule(service, length, declines))
        expect(jobShare(instance, recovered(instance).world), JSON.stringify(instance.jobs)).toBe(1);
  });

  test("decides by what it was shown: after equal results comes the same call", () => {
    for (const [service, declines] of CASES) {
      const next = new Map<string, string>();
      for (const instance of everySchedule(service, 3, declines)) {
        const world = new World(instance);
        let shown = "";
        for (const one of recovered(instance).calls) {
          const text = JSON.stringify(one);
          expect(next.get(shown) ?? text).toBe(text);
          next.set(shown, text);
          shown += `${text}${JSON.stringify(answerTo(world, one))}\n`;
        }
      }
    }
  });

  test.each(LEVELS)("earns all parts at level %i, and each trap of the level costs", (level) => {
    for (const instance of instancesOf(level, 6)) {
      const { world } = recovered(instance);
      expect(new Set(Object.values(passedParts(instance, world)))).toEqual(new Set([1]));
      for (const trap of instance.traps)
        expect(jobShare(instance, recovered(instance, trap).world), trap).toBeLessThan(1);
    }
  });
});

describe("the world", () => {
  test.each(LEVELS)("agrees with a second account of effects under random calls at level %i", (level) => {
    const rng = createRng(level);
    for (const instance of instancesOf(level, 20)) {
      const world = new World(instance);
      const done: (Request & { minute: number })[] = [...instance.earlier];
      for (let turn = 0; turn < 60; turn++) {
        const request = randomRequest(instance, rng);
        if (rng.integer(5) === 0) world.wait(1 + rng.integer(20));
        if (carriedOut(() => world.act(request))) done.push({ ...request, minute: world.minute });
      }
      for (const { id, steps } of instance.jobs)
        for (const { service } of steps)
          expect(world.total(id, service)).toBe(account(instance, done, { job: id, service }));
    }
  });

  test("a call that is refused takes no time and has no effect", () => {
    const [instance] = instancesOf(5, 1);
    if (instance === undefined) throw new Error("no instance");
    const world = new World(instance);
    const service = at(instance.services, 0).name;
    const effects = world.effects.length;
    for (const attempt of [
      () => world.act({ service, job: "job-0", amount: 1, key: null }),
      () => world.act({ service: "none", job: at(instance.jobs, 0).id, amount: 1, key: null }),
      () => world.undo(service, "fx-0"),
      () => world.look("constructor"),
      () => world.enter("job-0", "done"),
    ])
      expect(attempt).toThrow(Refusal);
    expect([world.minute, world.effects.length]).toEqual([0, effects]);
    world.wait(instance.deadline + 1);
    expect(() => world.look(service)).toThrow("deadline");
    expect(() => world.enter(at(instance.jobs, 0).id, "done")).toThrow("deadline");
  });
});

function instancesOf(level: (typeof LEVELS)[number], count: number): Instance[] {
  const rng = createRng(31 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 2_000 && found.length < count; draw++) {
    const drawn = drawInstance(rng, level);
    if (drawn !== null) found.push(drawn);
  }
  return found;
}

function answerTo(world: World, { tool, args }: { tool: string; args: Readonly<Record<string, unknown>> }): unknown {
  const {
    service = "",
    job = "",
    amount = 0,
    key = null,
    effect = "",
    minutes = 0,
  } = args as Partial<Request & { effect: string; minutes: number }>;
  if (tool === "act") return world.act({ service, job, amount, key });
  if (tool === "look") return world.look(service);
  if (tool === "undo") return world.undo(service, effect);
  if (tool === "wait") world.wait(minutes);
  return world.minute;
}

function carriedOut(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function randomRequest({ jobs, services }: Instance, rng: Rng): Request {
  const { id, steps } = rng.pick(jobs);
  const { service, amount } = rng.pick(steps);
  const isKeyed = services.some(({ name, keyed }) => name === service && keyed !== null) && rng.integer(3) > 0;
  return { service, job: id, amount, key: isKeyed ? `${id}-${rng.integer(2)}` : null };
}

/** The sum of a step's effects, from the list of requests alone: which of them a key silences, and what each of the others leaves. */
function account(
  { jobs, services }: Instance,
  requests: readonly (Request & { minute: number })[],
  { job, service }: { job: string; service: string },
): number {
  const step = jobs.find(({ id }) => id === job)?.steps.find((one) => one.service === service);
  const window = services.find(({ name }) => name === service)?.keyed ?? 0;
  if (step === undefined || step.declines) return 0;
  const own = requests.filter((one) => one.job === job && one.service === service);
  const outcomes = own.map((_, index) => step.outcomes[index] ?? "done");
  const hasEffect = range(own.length).map(() => false);
  for (const index of range(own.length)) {
    const { key, minute } = at(own, index);
    const isSilenced = range(index).some(
      (before) =>
        key !== null && hasEffect[before] && at(own, before).key === key && minute - at(own, before).minute <= window,
    );
    hasEffect[index] = !isSilenced && !["lost", "busy"].includes(at(outcomes, index));
  }
  return range(own.length)
    .filter((index) => hasEffect[index])
    .map((index) => {
      const { amount } = at(own, index);
      const outcome = at(outcomes, index);
      return outcome === "half" ? Math.max(1, Math.floor(amount / 2)) : outcome === "twice" ? 2 * amount : amount;
    })
    .reduce((sum, one) => sum + one, 0);
}
