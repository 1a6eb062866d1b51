/**
 * A small cluster in virtual time, minute by minute: services with queues, workers and retries read from stores through caches. Everything is counted in
 * whole requests, and each request that arrived is in one place: served, failed, turned away, dropped, or waiting.
 */
import { at } from "../../lists.ts";

export const CAUSES = ["bad deploy", "leak", "spike", "slow store", "cold cache", "retry storm"] as const;
export type Cause = (typeof CAUSES)[number];

export interface ServiceSpec {
  readonly name: string;
  /** Index of the store that its requests read from. */
  readonly store: number;
  /** Requests of a minute. */
  readonly arrivals: number;
  readonly instances: number;
  /** Requests that an instance works on in a minute. */
  readonly rate: number;
  /** Times that a failed request is tried again. */
  readonly retries: number;
}

export interface StoreSpec {
  readonly name: string;
  /** Queries that it answers in a minute. */
  readonly capacity: number;
  /** Percent of the reads that its cache answers. */
  readonly hits: number;
}

/** What went wrong: `place` is the index of a service, or of a store for a slow store and a cold cache. */
export interface Fault {
  readonly cause: Cause;
  readonly place: number;
}

export interface ClusterSpec {
  readonly services: readonly ServiceSpec[];
  readonly stores: readonly StoreSpec[];
  readonly fault: Fault;
}

/** What an operator orders. `target` names a service or a store. */
export type Action =
  | { readonly kind: "rollback" | "restart" | "warm" | "failover"; readonly target: string }
  | { readonly kind: "scale"; readonly target: string; readonly instances: number }
  | { readonly kind: "retries"; readonly target: string; readonly retries: number }
  | { readonly kind: "shed"; readonly target: string; readonly percent: number; readonly minutes: number };

/** Minutes that are simulated before the first of the incident, and the one in which the fault began. */
export const FIRST_MINUTE = -8;
export const FAULT_MINUTE = -5;
/** Most times that a request is tried again. */
export const MOST_RETRIES = 8;
/** A service cannot grow beyond so many times its instances. */
export const MOST_GROWTH = 3;

const SCALE_MINUTES = 3;
const ROLLBACK_MINUTES = 2;
const FAILOVER_MINUTES = 2;
const WARM_MINUTES = 6;
/** A queue holds the requests of so many minutes. */
const QUEUE_MINUTES = 2;
/** Percent of its capacity that a service has under a bad deploy, and loses each minute by a leak; a leaking service keeps the least. */
const BAD_DEPLOY = 35;
const LEAK = 7;
const LEAST_LEFT = 20;
const SPIKE = 250;
const SLOW_STORE = 30;
/** The blip that begins a retry storm. */
const BLIP = 20;
export const BLIP_MINUTES = 4;
/** Points of the hit rate that a minute refills, at most, by reads and by warming. */
const REFILL = 12;
const WARMING = 10;

interface Service {
  readonly spec: ServiceSpec;
  /** Waiting requests, by the tries that failed. */
  readonly waiting: number[];
  instances: number;
  retries: number;
  hasBadDeploy: boolean;
  /** The minute since which it leaks; null: it does not. */
  leaksSince: number | null;
  /** It works on nothing before this minute. */
  downUntil: number;
  /** It has half of its instances before this minute. */
  halfUntil: number;
  grows: { readonly minute: number; readonly instances: number } | null;
  /** Requests that a restart has lost and no minute has booked. */
  lost: number;
}

interface Store {
  readonly spec: StoreSpec;
  hits: number;
  isSlow: boolean;
  downUntil: number;
  warmUntil: number;
  shed: { readonly percent: number; readonly until: number };
}

/** What happened to a service in a minute. */
export interface ServiceMinute {
  readonly arrivals: number;
  readonly tried: number;
  readonly served: number;
  readonly failed: number;
  readonly dropped: number;
  readonly shed: number;
  readonly waiting: number;
  readonly instances: number;
}

export interface StoreMinute {
  readonly queries: number;
  readonly answered: number;
  /** Percent of the reads that the cache answered. */
  readonly hits: number;
}

export interface Minute {
  readonly minute: number;
  readonly services: readonly ServiceMinute[];
  readonly stores: readonly StoreMinute[];
}

export class Cluster {
  readonly spec: ClusterSpec;
  readonly history: Minute[] = [];
  /** The next minute to simulate. */
  minute = FIRST_MINUTE;
  /** Requests that were served from minute 0 on. */
  served = 0;
  readonly #services: readonly Service[];
  readonly #stores: readonly Store[];

  /** At minute 0, with the fault at work; or where another cluster is, with a history that begins there. */
  constructor(spec: ClusterSpec, from: Cluster | null = null) {
    this.spec = spec;
    if (from !== null) {
      this.#services = from.#services.map((one) => ({ ...one, waiting: [...one.waiting] }));
      this.#stores = from.#stores.map((one) => ({ ...one }));
      this.minute = from.minute;
      this.served = from.served;
      return;
    }
    this.#services = spec.services.map((one) => ({
      spec: one,
      waiting: Array.from({ length: MOST_RETRIES + 1 }, () => 0),
      instances: one.instances,
      retries: one.retries,
      hasBadDeploy: false,
      leaksSince: null,
      downUntil: FIRST_MINUTE,
      halfUntil: FIRST_MINUTE,
      grows: null,
      lost: 0,
    }));
    this.#stores = spec.stores.map((one) => ({
      spec: one,
      hits: one.hits,
      isSlow: false,
      downUntil: FIRST_MINUTE,
      warmUntil: FIRST_MINUTE,
      shed: { percent: 0, until: FIRST_MINUTE },
    }));
    while (this.minute < 0) this.pass();
  }

  retriesOf(service: number): number {
    return at(this.#services, service).retries;
  }

  /** Takes effect from the next minute on, or later. The target is of the kind that the action is for. */
  order(action: Action): void {
    const { minute } = this;
    const service = this.#services.find(({ spec }) => spec.name === action.target);
    const store = this.#stores.find(({ spec }) => spec.name === action.target);
    if (service !== undefined) orderService(service, action, minute);
    if (store !== undefined) orderStore(store, action, minute);
  }

  /** Simulates one minute. */
  pass(): void {
    if (this.minute === FAULT_MINUTE) this.#begin(this.spec.fault);
    const { minute } = this;
    const work = this.#services.map((service) => this.#work(service));
    const missed = this.#stores.map(() => 0);
    for (const [index, { misses }] of work.entries()) {
      const { store } = at(this.#services, index).spec;
      missed[store] = at(missed, store) + misses;
    }
    const queries = this.#stores.map((store, index) => {
      const misses = at(missed, index);
      const warming = minute < store.warmUntil ? Math.ceil(store.spec.capacity / 5) : 0;
      return { misses, demand: misses + warming, capacity: this.#capacity(store, misses + warming) };
    });
    const services = work.map((one, index) => {
      const service = at(this.#services, index);
      const { demand, capacity } = at(queries, service.spec.store);
      const answered = demand <= capacity ? one.misses : Math.floor((one.misses * capacity) / demand);
      return finish(service, one, one.tried - one.misses + answered);
    });
    const stores = this.#stores.map((store, index): StoreMinute => {
      const { demand, capacity } = at(queries, index);
      const hits = store.hits;
      refill(store, demand, capacity, minute);
      return { queries: demand, answered: Math.min(demand, capacity), hits };
    });
    this.history.push({ minute, services, stores });
    if (minute >= 0) this.served += sum(services.map(({ served }) => served));
    this.minute += 1;
  }

  #begin({ cause, place }: Fault): void {
    const service = this.#services[place];
    const store = this.#stores[place];
    if (cause === "slow store" && store !== undefined) store.isSlow = true;
    if (cause === "cold cache" && store !== undefined) store.hits = 0;
    if (service === undefined) return;
    if (cause === "bad deploy") service.hasBadDeploy = true;
    if (cause === "leak") service.leaksSince = FAULT_MINUTE;
    if (cause === "retry storm") service.retries = MOST_RETRIES;
  }

  /** Takes requests in, and those that the workers get to: those that failed most often first. */
  #work(service: Service): Work {
    const { minute } = this;
    const { spec, waiting } = service;
    if (service.grows !== null && minute >= service.grows.minute) {
      service.instances = service.grows.instances;
      service.grows = null;
    }
    const { cause, place } = this.spec.fault;
    const hasSpike = cause === "spike" && this.#services[place] === service && minute >= FAULT_MINUTE;
    const arrivals = hasSpike ? Math.floor((spec.arrivals * SPIKE) / 100) : spec.arrivals;
    const { shed: limit, hits } = at(this.#stores, spec.store);
    const shed = minute < limit.until ? Math.floor((arrivals * limit.percent) / 100) : 0;
    waiting[0] = at(waiting, 0) + arrivals - shed;
    let left = capacityOf(service, minute);
    const tries = waiting.map(() => 0);
    for (let failed = MOST_RETRIES; failed >= 0; failed--) {
      const count = Math.min(left, at(waiting, failed));
      tries[failed] = count;
      waiting[failed] = at(waiting, failed) - count;
      left -= count;
    }
    const room = QUEUE_MINUTES * spec.arrivals;
    const excess = Math.max(0, sum(waiting) - room);
    drop(waiting, excess);
    const dropped = excess + service.lost;
    service.lost = 0;
    const tried = sum(tries);
    // What failed was in no cache, and is in none when it is tried again.
    const found = Math.floor((at(tries, 0) * hits) / 100);
    return { arrivals, shed, dropped, tries, tried, misses: tried - found };
  }

  /** A store that gets more than it can answer answers fewer than it could. */
  #capacity({ spec, isSlow, downUntil }: Store, demand: number): number {
    if (this.minute < downUntil) return 0;
    const { cause, place } = this.spec.fault;
    const since = this.minute - FAULT_MINUTE;
    const hasBlip =
      cause === "retry storm" &&
      since >= 0 &&
      since < BLIP_MINUTES &&
      at(this.spec.stores, at(this.spec.services, place).store) === spec;
    const percent = isSlow ? SLOW_STORE : hasBlip ? BLIP : 100;
    const capacity = Math.floor((spec.capacity * percent) / 100);
    const over = Math.max(0, demand - capacity);
    return Math.max(Math.floor(capacity / 3), capacity - over);
  }
}

interface Work {
  readonly arrivals: number;
  readonly shed: number;
  readonly dropped: number;
  readonly tries: readonly number[];
  readonly tried: number;
  readonly misses: number;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, one) => total + one, 0);
}

function capacityOf(
  { spec, instances, hasBadDeploy, leaksSince, downUntil, halfUntil }: Service,
  minute: number,
): number {
  if (minute < downUntil) return 0;
  const lost = leaksSince === null ? 0 : LEAK * (minute - leaksSince);
  const percent = hasBadDeploy ? BAD_DEPLOY : Math.max(LEAST_LEFT, 100 - lost);
  return Math.floor((instances * spec.rate * percent) / (minute < halfUntil ? 200 : 100));
}

/** Takes the newest tries out of a queue. */
function drop(waiting: number[], count: number): void {
  let left = count;
  for (const [failed, there] of waiting.entries()) {
    const gone = Math.min(left, there);
    waiting[failed] = there - gone;
    left -= gone;
  }
}

/** Books the results of a minute's tries: the first tries fail first. */
function finish({ waiting, retries, instances }: Service, work: Work, served: number): ServiceMinute {
  const { arrivals, shed, dropped, tries, tried } = work;
  let failures = tried - served;
  let failed = 0;
  for (const [before, count] of tries.entries()) {
    const some = Math.min(failures, count);
    failures -= some;
    if (before < retries) waiting[before + 1] = at(waiting, before + 1) + some;
    else failed += some;
  }
  return { arrivals, tried, served, failed, dropped, shed, waiting: sum(waiting), instances };
}

function refill(store: Store, demand: number, capacity: number, minute: number): void {
  const ratio = demand === 0 ? 1 : Math.min(1, capacity / demand);
  const gained = Math.floor(REFILL * ratio) + (minute < store.warmUntil ? Math.ceil(WARMING * ratio) : 0);
  store.hits = Math.min(store.spec.hits, store.hits + gained);
}

function orderService(service: Service, action: Action, minute: number): void {
  if (action.kind === "scale") service.grows = { minute: minute + SCALE_MINUTES, instances: action.instances };
  if (action.kind === "retries") service.retries = action.retries;
  if (action.kind === "rollback") {
    service.halfUntil = minute + ROLLBACK_MINUTES;
    service.hasBadDeploy = false;
  }
  if (action.kind !== "restart") return;
  service.downUntil = minute + 1;
  service.lost += sum(service.waiting);
  service.waiting.fill(0);
  // What leaks is older than the last deploy, so that it leaks again.
  if (service.leaksSince !== null) service.leaksSince = minute;
}

function orderStore(store: Store, action: Action, minute: number): void {
  if (action.kind === "warm") store.warmUntil = minute + WARM_MINUTES;
  if (action.kind === "shed") store.shed = { percent: action.percent, until: minute + action.minutes };
  if (action.kind !== "failover") return;
  // The other machine has all of the data, and an empty cache.
  store.downUntil = minute + FAILOVER_MINUTES;
  store.isSlow = false;
  store.hits = Math.floor(store.hits / 2);
}
