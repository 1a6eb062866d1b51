/** The operator's side of an incident: what the tools show and do in the cluster, and what the end is worth. */
import { at, range } from "../../lists.ts";
import { Refusal } from "../../row.ts";
import {
  type Action,
  BLIP_MINUTES,
  type Cause,
  Cluster,
  type ClusterSpec,
  FAULT_MINUTE,
  MOST_GROWTH,
  MOST_RETRIES,
} from "./cluster.ts";

export interface Instance extends ClusterSpec {
  /** The incident is over after so many minutes. */
  readonly minutes: number;
  /** Services that were deployed shortly before, and did not suffer from it; the faulty one is not among them. */
  readonly harmless: readonly number[];
  /** The best plan that was found, carried out after one look into a log, and the requests that are served with it and without any action. */
  readonly plan: readonly Action[];
  readonly reached: number;
  readonly idle: number;
}

/** Minutes of the past that the status shows. */
const SHOWN = 4;
/** What is left of the score for a right plan with half of the report: little, for more instances help against nearly every cause. */
const HALF_REPORT = 0.15;

export class Incident {
  readonly instance: Instance;
  readonly cluster: Cluster;
  report: { readonly cause: Cause; readonly component: string } | null = null;

  constructor(instance: Instance) {
    this.instance = instance;
    this.cluster = new Cluster(instance);
  }

  /** Orders something; a minute passes. Throws Refusal. */
  act(action: Action): void {
    this.#check();
    checkAction(this.instance, action);
    this.cluster.order(action);
    this.#pass(1);
  }

  /** Throws Refusal. */
  wait(minutes: number): void {
    this.#check();
    this.#pass(minutes);
  }

  /** Reading a log takes a minute. Throws Refusal. */
  logsOf(component: string): string[] {
    this.#check();
    const lines = linesOf(this.instance, component);
    this.#pass(1);
    return lines;
  }

  /** Ends the work: what was ordered goes on to the end of the incident. Throws Refusal. */
  close(cause: Cause, component: string): void {
    if (this.report !== null) throw new Refusal("the incident is closed");
    if (!namesOf(this.instance).includes(component)) throw new Refusal(`there is no ${component}`);
    this.report = { cause, component };
    this.#pass(this.instance.minutes);
  }

  status(): Record<string, unknown> {
    const past = this.cluster.history.slice(-SHOWN);
    const { services, stores } = this.instance;
    return {
      minute: this.cluster.minute,
      minutes_left: this.instance.minutes - this.cluster.minute,
      shown_minutes: past.map(({ minute }) => minute),
      services: Object.fromEntries(
        services.map(({ name, store }, index) => {
          const seen = past.map((one) => at(one.services, index));
          return [
            name,
            {
              reads_from: at(stores, store).name,
              arrivals: seen.map(({ arrivals }) => arrivals),
              tries: seen.map(({ tried }) => tried),
              served: seen.map(({ served }) => served),
              failed_or_dropped: seen.map(({ failed, dropped }) => failed + dropped),
              waiting: seen.map(({ waiting }) => waiting),
              instances: at(seen, seen.length - 1).instances,
            },
          ];
        }),
      ),
      stores: Object.fromEntries(
        stores.map(({ name }, index) => {
          const seen = past.map((one) => at(one.stores, index));
          const column = (key: "queries" | "answered" | "hits"): number[] => seen.map((one) => one[key]);
          return [
            name,
            { queries: column("queries"), answered: column("answered"), cache_hit_percent: column("hits") },
          ];
        }),
      ),
    };
  }

  #check(): void {
    if (this.report !== null) throw new Refusal("the incident is closed");
    if (this.cluster.minute >= this.instance.minutes) throw new Refusal("the incident is over: only a report is left");
  }

  #pass(minutes: number): void {
    for (let left = minutes; left > 0 && this.cluster.minute < this.instance.minutes; left--) this.cluster.pass();
  }
}

/** The component that the fault is in. */
export function faultyName({ services, stores, fault: { cause, place } }: ClusterSpec): string {
  return isOfStore(cause) ? at(stores, place).name : at(services, place).name;
}

export function isOfStore(cause: Cause): boolean {
  return cause === "slow store" || cause === "cold cache";
}

/** How much of what the best plan wins is won. */
export function wonShare({ reached, idle }: Instance, { cluster }: Incident): number {
  return Math.min(1, Math.max(0, (cluster.served - idle) / (reached - idle)));
}

/** How much of the report is right. */
export function rightShare(instance: Instance, { report }: Incident): number {
  const { cause } = instance.fault;
  return report === null ? 0 : (Number(report.cause === cause) + Number(report.component === faultyName(instance))) / 2;
}

/** The requests that were won, as a share, times what the report leaves of it; nothing without a report or with a wrong one. */
export function grade(instance: Instance, incident: Incident): number {
  if (incident.report === null) return 0;
  const right = rightShare(instance, incident);
  return wonShare(instance, incident) * (right === 1 ? 1 : right > 0 ? HALF_REPORT : 0);
}

export function namesOf({ services, stores }: ClusterSpec): string[] {
  return [...services, ...stores].map(({ name }) => name);
}

function checkAction({ services, stores }: ClusterSpec, action: Action): void {
  const { kind, target } = action;
  const service = services.find(({ name }) => name === target);
  const store = stores.find(({ name }) => name === target);
  const isForStore = kind === "warm" || kind === "failover" || kind === "shed";
  if ((isForStore ? store : service) === undefined)
    throw new Refusal(`there is no ${isForStore ? "store" : "service"} ${target}`);
  if (kind === "scale" && service !== undefined && action.instances > MOST_GROWTH * service.instances)
    throw new Refusal(`${target} can have ${MOST_GROWTH * service.instances} instances at most`);
  if (kind === "retries" && action.retries > MOST_RETRIES) throw new Refusal(`at most ${MOST_RETRIES} retries`);
}

/** What the log of a component says about the time before the incident. */
function linesOf({ services, stores, fault, harmless }: Instance, component: string): string[] {
  const place = services.findIndex(({ name }) => name === component);
  if (place >= 0) {
    const isFaulty = !isOfStore(fault.cause) && fault.place === place;
    return isFaulty ? serviceLines(fault.cause) : harmless.includes(place) ? HARMLESS : QUIET;
  }
  const store = stores.findIndex(({ name }) => name === component);
  if (store < 0) throw new Refusal(`there is no ${component}`);
  if (fault.cause === "slow store" && fault.place === store)
    return [`minute ${FAULT_MINUTE}: the disk reports errors`, "reads take 30 ms, and took 9 ms before"];
  if (fault.cause === "cold cache" && fault.place === store)
    return [`minute ${FAULT_MINUTE}: the cache was restarted and began empty`, "reads take 9 ms, as before"];
  if (fault.cause === "retry storm" && at(services, fault.place).store === store)
    return [
      `minutes ${FAULT_MINUTE} to ${FAULT_MINUTE + BLIP_MINUTES - 1}: most connections were refused`,
      "since then connections are accepted; reads take 9 ms, as before",
    ];
  return ["reads take 9 ms, as before", "the cache has not been restarted"];
}

const QUIET = ["no deploy and no change of settings today", "a request takes 40 ms of work, as before"];
const HARMLESS = [
  `minute ${FAULT_MINUTE}: a new version was deployed`,
  "a request takes 40 ms of work, as before",
  "memory 41 %, as before",
];

function serviceLines(cause: Cause): string[] {
  const lines: Readonly<Partial<Record<Cause, string[]>>> = {
    "bad deploy": [
      `minute ${FAULT_MINUTE}: a new version was deployed`,
      "a request takes 115 ms of work, and took 40 ms before",
      "memory 43 %, as before",
    ],
    leak: [
      ...range(3).map(
        (step) => `minute ${FAULT_MINUTE + 2 * step}: memory ${62 + 11 * step} %, collection slows all requests`,
      ),
      "the version is three weeks old",
    ],
    spike: [
      `minute ${FAULT_MINUTE}: requests of one client have grown to one and a half times all others`,
      "a request takes 40 ms of work, as before",
    ],
    "retry storm": [
      `minute ${FAULT_MINUTE}: a new setting tries a failed request ${MOST_RETRIES} times again`,
      "most tries are repeated ones; a request takes 40 ms of work, as before",
    ],
  };
  return lines[cause] ?? QUIET;
}
