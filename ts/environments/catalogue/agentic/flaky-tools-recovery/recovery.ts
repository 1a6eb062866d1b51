/**
 * Protocols that bring jobs to their ends with the tools alone: they see what a policy sees, never the fault schedules. The careful one is
 * the gold script; each trap that it can be made to fall into is a slip.
 */
import type { Call } from "../../row.ts";
import { call } from "../records.ts";
import type { Instance, Service, Trap } from "./instance.ts";
import { type Answer, type Entry, World } from "./world.ts";

/** A step under way. */
interface Work {
  readonly job: string;
  readonly service: Service;
  readonly amount: number;
  /** The key of its request, with the minute of its first use. */
  key: { readonly text: string; readonly since: number } | null;
  /** When a look at the service shows all effects of the requests so far; null where nothing was asked. */
  shownFrom: number | null;
  state: "open" | "unsure" | "settled" | "declined";
  keys: number;
}

/** Tries of one request that is safe to repeat. */
const MOST_REPEATS = 12;
/** Rounds of asking, waiting and looking. */
const MOST_ROUNDS = 30;

class Worker {
  readonly calls: Call[] = [];
  readonly world: World;
  readonly #neglected: Trap | null;
  readonly #works: Work[];

  constructor(instance: Instance, neglected: Trap | null) {
    this.world = new World(instance);
    this.#neglected = neglected;
    this.calls.push(call("list_jobs"));
    this.#works = instance.jobs.flatMap(({ id: job, steps }) =>
      steps.map(({ service, amount }): Work => {
        const known = { job, service: this.world.service(service), amount };
        return { ...known, key: null, shownFrom: null, state: "open", keys: 0 };
      }),
    );
    if (neglected !== "log" && instance.earlier.length > 0) this.#readLog(instance);
  }

  run(): void {
    const first = this.#works.filter(({ service }) => this.#neglected === "order" || service.undoable);
    this.#settleAll(first);
    if (this.#neglected !== "compensation") this.#undoDeclined(first);
    this.#settleAll(this.#works.filter((work) => !first.includes(work)));
    for (const { id } of this.world.instance.jobs) this.#enter(id, this.#isDeclined(id) ? "undone" : "done");
  }

  #readLog({ earlier }: Instance): void {
    this.calls.push(call("read_log"));
    for (const [index, { job, service, key, minute }] of earlier.entries()) {
      const work = this.#works.find((one) => one.job === job && one.service.name === service);
      const answer = this.world.heard[index]?.answer;
      if (work === undefined || answer === "busy") continue;
      if (answer === "declined") work.state = "declined";
      if (answer === "declined") continue;
      work.shownFrom = minute + work.service.settling + work.service.lag;
      work.state = "unsure";
      const remembers = this.#neglected === "old-keys" ? Number.POSITIVE_INFINITY : (work.service.keyed ?? 0);
      // Room for repeats, and for the steps before this one.
      if (key === null || minute + remembers < this.world.instance.jobs.length * 2 + MOST_REPEATS) continue;
      work.key = { text: key, since: minute };
      work.state = "open";
    }
  }

  #settleAll(works: readonly Work[]): void {
    const groups = this.#neglected === "one-by-one" ? works.map((work) => [work]) : [works];
    for (const group of groups) this.#settle(group);
  }

  /** Asks for all that is open, waits once, and looks: until nothing is unsure. */
  #settle(works: readonly Work[]): void {
    // Keys age, so the oldest come first.
    const byAge = works.toSorted((a, b) => (a.key?.since ?? 1) - (b.key?.since ?? 1));
    for (let round = 0; round < MOST_ROUNDS; round++) {
      for (const work of byAge) if (work.state === "open" && !this.#isDeclined(work.job)) this.#ask(work, work.amount);
      const unsure = byAge.filter(({ state }) => state === "unsure");
      if (unsure.length === 0) return;
      this.#waitUntil(Math.max(...unsure.map(({ shownFrom }) => shownFrom ?? 0)));
      for (const service of new Set(unsure.map((work) => work.service))) {
        const shown = this.#look(service);
        for (const work of unsure) if (work.service === service) this.#correct(work, shown);
      }
    }
  }

  /** One request, repeated while that is safe. */
  #ask(work: Work, amount: number): void {
    const { job, service } = work;
    if (service.keyed !== null)
      work.key ??= { text: `${job}/${service.name}/${work.keys++}`, since: this.world.minute };
    for (let tried = 0; tried < MOST_REPEATS; tried++) {
      const { answer } = this.#act(work, amount);
      if (answer === "busy") continue;
      if (answer === "declined") work.state = "declined";
      if (answer === "declined") return;
      if (answer === "timeout" && work.key !== null) continue;
      const isCertain = answer === "accepted" && (work.key !== null || this.#neglected === "acceptance");
      work.state = isCertain ? "settled" : "unsure";
      work.shownFrom = this.world.minute + service.settling + service.lag;
      return;
    }
  }

  /** Asks for what is missing and undoes what is too much. */
  #correct(work: Work, shown: readonly { id: string; job: string; amount: number; undone: boolean }[]): void {
    const effects = shown.filter(({ job, undone }) => job === work.job && !undone);
    const surplus = effects.reduce((sum, { amount }) => sum + amount, 0) - work.amount;
    work.state = "settled";
    if (surplus > 0) {
      const extra = effects.find(({ amount }) => amount === surplus);
      if (extra !== undefined && work.service.undoable) this.#undo(work.service, extra.id);
    } else if (surplus < 0) {
      work.key = null;
      if (this.#isDeclined(work.job)) return;
      this.#ask(work, -surplus);
    }
  }

  #undoDeclined(works: readonly Work[]): void {
    const left = works.filter(
      ({ job, service, shownFrom }) => this.#isDeclined(job) && service.undoable && shownFrom !== null,
    );
    if (left.length === 0) return;
    this.#waitUntil(Math.max(...left.map(({ shownFrom }) => shownFrom ?? 0)));
    for (const service of new Set(left.map((work) => work.service)))
      for (const { id, job, undone } of this.#look(service))
        if (!undone && left.some((work) => work.job === job && work.service === service)) this.#undo(service, id);
  }

  #isDeclined(job: string): boolean {
    return this.#works.some((work) => work.job === job && work.state === "declined");
  }

  #act({ service, job, key }: Work, amount: number): Answer {
    const request = { service: service.name, job, amount };
    if (this.#isOver()) return { answer: "busy" };
    this.calls.push(call("act", key === null ? request : { ...request, key: key.text }));
    return this.world.act({ ...request, key: key?.text ?? null });
  }

  #look({ name }: Service): ReturnType<World["look"]> {
    if (this.#isOver()) return [];
    this.calls.push(call("look", { service: name }));
    return this.world.look(name);
  }

  #undo({ name }: Service, effect: string): void {
    for (let tried = 0; tried < MOST_REPEATS && !this.#isOver(); tried++) {
      this.calls.push(call("undo", { service: name, effect }));
      if (this.world.undo(name, effect).answer === "undone") return;
    }
  }

  #waitUntil(minute: number): void {
    const minutes = minute - this.world.minute;
    if (minutes <= 0 || this.#neglected === "haste") return;
    this.calls.push(call("wait", { minutes }));
    this.world.wait(minutes);
  }

  #enter(job: string, outcome: Entry): void {
    this.calls.push(call("enter", { job, outcome }));
    if (this.world.minute <= this.world.instance.deadline) this.world.enter(job, outcome);
  }

  #isOver(): boolean {
    return this.world.minute >= this.world.instance.deadline;
  }
}

export interface Attempt {
  readonly calls: readonly Call[];
  readonly world: World;
}

/** Carries the protocol out, but for what is neglected. */
export function recovered(instance: Instance, neglected: Trap | null = null): Attempt {
  const worker = new Worker(instance, neglected);
  worker.run();
  return worker;
}

/** Asks for every step a number of times, or until it hears that it is accepted, and calls every job done. */
export function careless(instance: Instance, requests: number | "until accepted"): Attempt {
  const world = new World(instance);
  const calls: Call[] = [call("list_jobs")];
  for (const { id: job, steps } of instance.jobs)
    for (const { service, amount } of steps)
      for (let tried = 0; tried < (requests === "until accepted" ? MOST_REPEATS : requests); tried++) {
        if (world.minute >= instance.deadline) break;
        calls.push(call("act", { service, job, amount }));
        const { answer } = world.act({ service, job, amount, key: null });
        if (requests === "until accepted" && (answer === "accepted" || answer === "declined")) break;
      }
  for (const { id } of instance.jobs) enterInto(world, calls, id, "done");
  return { calls, world };
}

/** Enters an outcome for every job and does nothing else. */
export function claimed(instance: Instance, outcome: Entry): Attempt {
  const world = new World(instance);
  const calls: Call[] = [];
  for (const { id } of instance.jobs) enterInto(world, calls, id, outcome);
  return { calls: [call("list_jobs"), ...calls], world };
}

function enterInto(world: World, calls: Call[], job: string, outcome: Entry): void {
  calls.push(call("enter", { job, outcome }));
  if (world.minute <= world.instance.deadline) world.enter(job, outcome);
}
