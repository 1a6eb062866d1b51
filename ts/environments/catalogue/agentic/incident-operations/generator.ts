/** Draws clusters and faults, and keeps the incidents in which a right plan wins much. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level, Script } from "../../row.ts";
import { call } from "../records.ts";
import {
  type Action,
  type Cause,
  CAUSES,
  type ClusterSpec,
  type Fault,
  MOST_GROWTH,
  type ServiceSpec,
} from "./cluster.ts";
import { faultyName, type Instance, isOfStore, namesOf } from "./incident.ts";
import { bestPlan, ordersOf, servedWith } from "./reference.ts";

/** By level: services, stores, causes that may be, services with a deploy that did no harm, minutes. */
const SIZES = [
  [2, 1, 3, 0, 24],
  [2, 1, 6, 1, 24],
  [3, 1, 6, 1, 28],
  [4, 2, 6, 2, 30],
  [5, 2, 6, 3, 32],
] as const;
const SERVICES =
  "basket billing catalog checkout delivery feed gallery invoice ledger login mailer notes offers orders profile quotes rating search stock tickets wallet".split(
    " ",
  );
const STORES = "amber basalt cobalt dolomite ember flint garnet hazel indigo jade".split(" ");
/** Percent of the requests of the incident that the best plan wins, at least. */
const LEAST_WON = 8;

export function make(rng: Rng, level: Level): Instance | null {
  const [services, stores, causes, harmless, minutes] = at(SIZES, level - 1);
  const spec = drawSpec(rng, { services, stores, causes });
  const { cause, place } = spec.fault;
  const others = range(services).filter((one) => isOfStore(cause) || one !== place);
  const withDeploys = sample(others, Math.min(harmless, others.length), rng).toSorted((a, b) => a - b);
  const store = isOfStore(cause) ? place : at(spec.services, place).store;
  const near = isOfStore(cause) ? [at(readersOf(spec, store), 0)] : [place];
  const orders = services <= 2 ? ordersOf(spec, range(services), range(stores)) : ordersOf(spec, near, [store]);
  const idle = servedWith(spec, minutes, null);
  const { plan, served } = bestPlan(spec, minutes, orders);
  const arrivals = minutes * spec.services.reduce((sum, one) => sum + one.arrivals, 0);
  if (plan.length === 0 || 100 * (served - idle) < LEAST_WON * arrivals) return null;
  return { ...spec, minutes, harmless: withDeploys, plan, reached: served, idle };
}

function drawSpec(rng: Rng, sizes: { services: number; stores: number; causes: number }): ClusterSpec {
  const names = sample(SERVICES, sizes.services, rng);
  // Every store has a reader.
  const readsFrom = shuffled(
    names.map((_, index) => index % sizes.stores),
    rng,
  );
  const services = names.map((name, index): ServiceSpec => {
    const [arrivals, rate] = [between(rng, 60, 140), between(rng, 18, 30)];
    const instances = Math.ceil((arrivals * between(rng, 125, 145)) / (100 * rate));
    return { name, store: at(readsFrom, index), arrivals, instances, rate, retries: 1 };
  });
  const stores = sample(STORES, sizes.stores, rng).map((name, index) => {
    const hits = between(rng, 60, 75);
    const reads = services.filter(({ store }) => store === index).reduce((sum, one) => sum + one.arrivals, 0);
    return { name, hits, capacity: Math.ceil((reads * (100 - hits) * between(rng, 165, 195)) / 10_000) };
  });
  const cause = rng.pick(CAUSES.slice(0, sizes.causes));
  const fault: Fault = { cause, place: rng.integer(isOfStore(cause) ? sizes.stores : sizes.services) };
  return { services, stores, fault };
}

function readersOf({ services }: ClusterSpec, store: number): number[] {
  return range(services.length).filter((index) => at(services, index).store === store);
}

/** The look, the orders, the report. */
export function scriptOf(
  instance: Instance,
  plan: readonly Action[],
  report: { cause: Cause; component: string } = {
    cause: instance.fault.cause,
    component: faultyName(instance),
  },
): Script {
  const orders = plan.map(({ kind, ...args }) => call(kind, args));
  return [call("status"), call("logs", { component: faultyName(instance) }), ...orders, call("report", report)];
}

/** Scripts that need no look at the cluster, each with the report that is right most often. */
export function blanketsOf(instance: Instance): Readonly<Record<string, Script>> {
  const { services, stores } = instance;
  const report = call("report", { cause: CAUSES[0], component: at(services, 0).name });
  const each = (some: readonly { readonly name: string }[], kind: string, more: object = {}): Script =>
    some.map(({ name }) => call(kind, { target: name, ...more }));
  return {
    "only a report": [report],
    "restart every service": [...each(services, "restart"), report],
    "roll every service back": [...each(services, "rollback"), report],
    "scale every service up": [
      ...services.map(({ name, instances }) => call("scale", { target: name, instances: MOST_GROWTH * instances })),
      report,
    ],
    "no retries anywhere": [...each(services, "retries", { retries: 0 }), report],
    "turn half away": [...each(stores, "shed", { percent: 50, minutes: 10 }), report],
    "warm every cache": [...each(stores, "warm"), report],
    "fail every store over": [...each(stores, "failover"), report],
  };
}

/** Plausible mistakes, by name. */
export function slipsOf(instance: Instance): Readonly<Record<string, Script>> {
  const { fault, plan, services, stores } = instance;
  const component = faultyName(instance);
  const others = namesOf(instance).filter((name) => name !== component);
  const otherCause = at(
    CAUSES.filter((cause) => cause !== fault.cause),
    fault.place % (CAUSES.length - 1),
  );
  const late = [call("status"), call("logs", { component }), call("wait", { minutes: 8 })];
  return {
    "a right report and nothing done": scriptOf(instance, []),
    "the right orders and another cause": scriptOf(instance, plan, { cause: otherCause, component }),
    "the right orders and another component": scriptOf(instance, plan, {
      cause: fault.cause,
      component: at(others, 0),
    }),
    "the right orders, too late": [...late, ...scriptOf(instance, plan).slice(2)],
    "everything is restarted": scriptOf(instance, [
      ...services.map(({ name: target }): Action => ({ kind: "restart", target })),
      ...stores.map(({ name: target }): Action => ({ kind: "failover", target })),
    ]),
  };
}
