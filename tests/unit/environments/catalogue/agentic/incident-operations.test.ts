/** The cluster of incident-operations: requests are never lost from the books, minutes worked out on paper, and the reference against every plan. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  type Action,
  BLIP_MINUTES,
  CAUSES,
  Cluster,
  type ClusterSpec,
  FAULT_MINUTE,
} from "../../../../../ts/environments/catalogue/agentic/incident-operations/cluster.ts";
import {
  blanketsOf,
  make,
  scriptOf,
} from "../../../../../ts/environments/catalogue/agentic/incident-operations/generator.ts";
import { incidentOperations } from "../../../../../ts/environments/catalogue/agentic/incident-operations/index.ts";
import {
  faultyName,
  grade,
  Incident,
  type Instance,
} from "../../../../../ts/environments/catalogue/agentic/incident-operations/incident.ts";
import {
  ordersOf,
  servedWith,
} from "../../../../../ts/environments/catalogue/agentic/incident-operations/reference.ts";
import { call } from "../../../../../ts/environments/catalogue/agentic/records.ts";
import { at, range } from "../../../../../ts/environments/catalogue/lists.ts";
import { scoreScript } from "../../../../../ts/environments/catalogue/play.ts";
import type { Level, Script } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 40 : 4;

const SPEC: Omit<ClusterSpec, "fault"> = {
  services: [
    { name: "orders", store: 0, arrivals: 100, instances: 6, rate: 22, retries: 1 },
    { name: "search", store: 0, arrivals: 80, instances: 5, rate: 22, retries: 1 },
  ],
  stores: [{ name: "amber", hits: 68, capacity: 105 }],
};
const withFault = (cause: (typeof CAUSES)[number]): ClusterSpec => ({ ...SPEC, fault: { cause, place: 0 } });
const minuteOf = (cluster: Cluster, minute: number) => at(cluster.history, minute - at(cluster.history, 0).minute);

function instancesOf(level: Level, count: number): Instance[] {
  const rng = createRng(70 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 1_000 && found.length < count; draw++) {
    const drawn = make(rng, level);
    if (drawn !== null) found.push(drawn);
  }
  expect(found).toHaveLength(count);
  return found;
}

const [row] = incidentOperations.rows;
if (row === undefined) throw new Error("no row");
const earnedBy = (instance: Instance, script: Script): number => scoreScript(row, instance, script);

describe("the cluster", () => {
  test("every request that arrived is served, failed, turned away, dropped or waiting", () => {
    const orders = fc.array(fc.option(fc.constantFrom(...ordersOf(withFault("spike"), [0, 1], [0]))), {
      maxLength: 25,
    });
    fc.assert(
      fc.property(fc.constantFrom(...CAUSES), orders, (cause, given) => {
        const cluster = new Cluster(withFault(cause));
        for (const order of given) {
          if (order !== null) cluster.order(order);
          cluster.pass();
        }
        // A restart's loss is booked in the next minute.
        cluster.pass();
        for (const index of [0, 1]) {
          const minutes = cluster.history.map(({ services }) => at(services, index));
          const sum = (key: "arrivals" | "served" | "failed" | "shed" | "dropped"): number =>
            minutes.reduce((total, one) => total + one[key], 0);
          const ends = sum("served") + sum("failed") + sum("shed") + sum("dropped");
          expect(ends + at(minutes, minutes.length - 1).waiting).toBe(sum("arrivals"));
        }
      }),
      { numRuns: IS_LONG ? 5_000 : 200 },
    );
  });

  test("serves everything before the fault", () => {
    for (const cause of CAUSES) {
      const { services, stores } = minuteOf(new Cluster(withFault(cause)), FAULT_MINUTE - 1);
      expect(services.map(({ served }) => served)).toEqual([100, 80]);
      // 32 of 100 and 26 of 80 are in no cache.
      expect(stores).toEqual([{ queries: 58, answered: 58, hits: 68 }]);
    }
  });

  test("a slow store answers a third at least, in shares of what was asked", () => {
    // 30 % of 105 are 31; 58 queries are 27 too many, and 31 - 27 is less than a third, 10. Of these orders gets 32/58 and search 26/58.
    const { services, stores } = minuteOf(new Cluster(withFault("slow store")), FAULT_MINUTE);
    expect(stores).toEqual([{ queries: 58, answered: 10, hits: 68 }]);
    expect(services.map(({ served, waiting }) => [served, waiting])).toEqual([
      [68 + 5, 27],
      [54 + 4, 22],
    ]);
  });

  test("a bad deploy leaves 35 % of the capacity, until a rollback", () => {
    const cluster = new Cluster(withFault("bad deploy"));
    expect(at(minuteOf(cluster, -1).services, 0).tried).toBe(Math.floor(6 * 22 * 0.35));
    cluster.order({ kind: "rollback", target: "orders" });
    for (let left = 3; left > 0; left--) cluster.pass();
    expect([0, 1, 2].map((minute) => at(minuteOf(cluster, minute).services, 0).tried)).toEqual([66, 66, 132]);
  });

  test("a retry storm outlives the blip that began it, until nothing is tried again", () => {
    const cluster = new Cluster(withFault("retry storm"));
    const stays = new Cluster(withFault("retry storm"));
    cluster.order({ kind: "retries", target: "orders", retries: 0 });
    for (let left = 12; left > 0; left--) for (const one of [cluster, stays]) one.pass();
    // Two minutes after the blip the store still gets more than the 58 queries that a healthy minute has.
    expect(at(minuteOf(stays, FAULT_MINUTE + BLIP_MINUTES + 1).stores, 0).queries).toBeGreaterThan(58);
    expect(at(at(cluster.history, cluster.history.length - 1).services, 0).served).toBe(100);
    expect(cluster.served).toBeGreaterThan(stays.served);
  });
});

describe("the reference", () => {
  test.each([1, 2] as const)(
    "is the best of all plans of two orders, tried one after the other, at level %i",
    (level) => {
      for (const instance of instancesOf(level, INSTANCES)) {
        const { services, stores, minutes } = instance;
        const orders = ordersOf(instance, range(services.length), range(stores.length));
        const plans: Action[][] = [[], ...orders.map((one) => [one])];
        for (const first of orders)
          plans.push(...orders.filter((one) => one !== first).map((second) => [first, second]));
        const served = plans.map((plan) => {
          const incident = new Incident(instance);
          incident.logsOf(faultyName(instance));
          for (const action of plan) incident.act(action);
          incident.close(instance.fault.cause, faultyName(instance));
          expect(incident.cluster.minute).toBe(minutes);
          return incident.cluster.served;
        });
        expect(Math.max(...served)).toBe(instance.reached);
      }
    },
  );

  test("loses little where only the service with the fault and its store are looked at", () => {
    const shares = ([3, 4, 5] as const).flatMap((level) =>
      instancesOf(level, IS_LONG ? 10 : 1).map((instance) => {
        const { services, stores, minutes, reached, idle } = instance;
        const orders = ordersOf(instance, range(services.length), range(stores.length));
        const all = orders.flatMap((first) => orders.map((second) => servedWith(instance, minutes, [first, second])));
        return (reached - idle) / (Math.max(...all) - idle);
      }),
    );
    expect(Math.min(...shares)).toBeGreaterThan(0.7);
    expect(shares.reduce((sum, one) => sum + one, 0) / shares.length).toBeGreaterThan(0.85);
  });
});

describe("the score", () => {
  test("of a plan without a report is 0, with half of the report 0.15, and with a right report and no order 0", () => {
    for (const instance of instancesOf(5, INSTANCES)) {
      const script = scriptOf(instance, instance.plan);
      const component = faultyName(instance);
      const other = at(
        CAUSES.filter((cause) => cause !== instance.fault.cause),
        0,
      );
      expect(earnedBy(instance, script)).toBe(1);
      expect(earnedBy(instance, script.slice(0, -1))).toBe(0);
      expect(earnedBy(instance, scriptOf(instance, instance.plan, { cause: other, component }))).toBe(0.15);
      const idle = new Incident(instance);
      idle.close(instance.fault.cause, component);
      expect(grade(instance, idle)).toBe(0);
    }
  });

  test("of scaling every service up is small at level 1, over all reports", () => {
    const scores = instancesOf(1, 10).flatMap((instance) => {
      const orders = (blanketsOf(instance)["scale every service up"] ?? []).slice(0, -1);
      const reports = CAUSES.slice(0, 3).flatMap((cause) =>
        instance.services.map(({ name: component }) => call("report", { cause, component })),
      );
      return reports.map((report) => earnedBy(instance, [...orders, report]));
    });
    expect(scores.reduce((sum, one) => sum + one, 0) / scores.length).toBeLessThan(0.2);
  });

  test("nothing is ordered after the end, and nothing is reported twice", () => {
    const [instance] = instancesOf(1, 1);
    if (instance === undefined) throw new Error("no instance");
    const incident = new Incident(instance);
    incident.wait(instance.minutes);
    expect(() => incident.wait(1)).toThrow("only a report is left");
    incident.close("leak", faultyName(instance));
    expect(() => incident.close("leak", faultyName(instance))).toThrow("closed");
  });
});
