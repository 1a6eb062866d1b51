/** The reference of an incident: the best of all plans of at most two orders, carried out after a look into one log. */
import { at } from "../../lists.ts";
import { type Action, Cluster, type ClusterSpec } from "./cluster.ts";

/** The look. */
const LOOK_MINUTES = 1;
const GROWTH = 2;
/** Percent and minutes. */
const SHEDS = [
  [50, 10],
  [80, 5],
] as const;

/** Requests that are served to the end of the incident with a plan; null: nothing is done. */
export function servedWith(spec: ClusterSpec, minutes: number, plan: readonly Action[] | null): number {
  let cluster = new Cluster(spec);
  if (plan !== null) pass(cluster, LOOK_MINUTES, minutes);
  for (const action of plan ?? []) cluster = after(cluster, action, minutes);
  return atEnd(cluster, minutes);
}

function pass(cluster: Cluster, count: number, minutes: number): void {
  for (let left = count; left > 0 && cluster.minute < minutes; left--) cluster.pass();
}

/** The cluster a minute after an order. */
function after(before: Cluster, action: Action, minutes: number): Cluster {
  const cluster = new Cluster(before.spec, before);
  cluster.order(action);
  pass(cluster, 1, minutes);
  return cluster;
}

function atEnd(before: Cluster, minutes: number): number {
  const cluster = new Cluster(before.spec, before);
  pass(cluster, minutes, minutes);
  return cluster.served;
}

/** Every order that may help at a service and at the store that it reads from, or at one store and at its services. */
export function ordersOf(spec: ClusterSpec, services: readonly number[], stores: readonly number[]): Action[] {
  const ofServices = services.flatMap((index): Action[] => {
    const { name: target, instances } = at(spec.services, index);
    return [
      { kind: "rollback", target },
      { kind: "restart", target },
      { kind: "scale", target, instances: GROWTH * instances },
      { kind: "retries", target, retries: 0 },
    ];
  });
  const ofStores = stores.flatMap((index): Action[] => {
    const { name: target } = at(spec.stores, index);
    const sheds = SHEDS.map(([percent, forMinutes]): Action => ({
      kind: "shed",
      target,
      percent,
      minutes: forMinutes,
    }));
    return [{ kind: "warm", target }, { kind: "failover", target }, ...sheds];
  });
  return [...ofServices, ...ofStores];
}

/** The plan with the most served requests, of those the shortest, which comes first. */
export function bestPlan(
  spec: ClusterSpec,
  minutes: number,
  orders: readonly Action[],
): { plan: readonly Action[]; served: number } {
  const looked = new Cluster(spec);
  pass(looked, LOOK_MINUTES, minutes);
  let best: { plan: readonly Action[]; served: number } = { plan: [], served: atEnd(looked, minutes) };
  const consider = (plan: readonly Action[], cluster: Cluster): void => {
    const served = atEnd(cluster, minutes);
    if (served > best.served) best = { plan, served };
  };
  const begun = orders.map((first) => ({ first, cluster: after(looked, first, minutes) }));
  for (const { first, cluster } of begun) consider([first], cluster);
  for (const { first, cluster } of begun) {
    for (const second of orders) if (second !== first) consider([first, second], after(cluster, second, minutes));
  }
  return best;
}
