/** battery-plan: a battery is charged and discharged hour by hour so that the bill is least. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, pageOf, pageStart } from "../records.ts";

interface Hour {
  price: number;
  load: number;
}

interface Instance {
  hours: Hour[];
  capacity: number;
  power: number;
  start: number;
  /** Cost of a unit that is taken out, for wear. */
  wear: number;
  /** Units into the battery (negative: out of it) in each hour. */
  plan: number[];
  best: number;
  /** The bill without the battery. */
  idle: number;
}

interface World {
  readonly instance: Instance;
  readonly plan: number[];
}

/** By level: hours, capacity, power. */
const SIZES = [
  [5, 3, 2],
  [8, 4, 2],
  [12, 6, 3],
  [18, 8, 3],
  [28, 12, 4],
] as const;
const PAGE = 12;

const setShape = z.object({
  hour: z.int().min(0).max(100),
  units: z.int().min(-100).max(100).describe("into the battery; negative: out of it"),
});

const tools = {
  forecast: worldTool<World, typeof pageStart>({
    description: `Price and load of each hour, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) =>
      pageOf(
        instance.hours.map(({ price, load }, hour) => ({ hour, price, load })),
        from,
        PAGE,
      ),
  }),
  battery: worldTool<World, z.ZodObject>({
    description: "Data of the battery",
    parameters: z.object({}),
    run: ({ instance: { capacity, power, start, wear } }) => ({
      capacity,
      most_units_per_hour: power,
      filled_at_start: start,
      wear_per_unit_out: wear,
    }),
  }),
  set_hour: worldTool<World, typeof setShape>({
    description: "Sets what the battery does in an hour; can be set again",
    parameters: setShape,
    run: ({ instance, plan }, { hour, units }) => {
      const own = instance.hours[hour];
      if (own === undefined) throw new Refusal(`there are the hours 0 to ${instance.hours.length - 1}`);
      if (Math.abs(units) > instance.power) throw new Refusal(`at most ${instance.power} units an hour go in or out`);
      if (own.load + units < 0) throw new Refusal("nothing can be fed into the grid");
      plan[hour] = units;
      return "set";
    },
  }),
};

export const batteryPlan = defineWorldRow<Instance, World>({
  id: "battery-plan",
  asks: "plan a battery hour by hour against known prices and loads for the least bill, with wear and limits",
  make,
  effort: ({ hours, capacity, power }) => hours.length * (capacity + 1) * (2 * power + 1),
  canonical: ({ hours, capacity, power, start, wear }) => [hours, capacity, power, start, wear],
  prompts: [
    (one) =>
      `Set the battery for ${one.hours.length} hours. The bill is the sum over all hours of price times (load + units into the battery), plus wear for each unit taken out. The battery can neither hold more than its capacity nor less than 0 after any hour, and must hold at the end at least what it had at first. Nothing is sold to the grid. Make the bill as small as possible; hours that you do not set stay at 0. A plan that breaks a limit is worth nothing.`,
    (one) =>
      `Minimise the cost of electricity over ${one.hours.length} hours. In each hour load and charging are bought at the hour's price; discharging lowers what is bought, down to 0, and costs wear per unit. Level after each hour: from 0 to the capacity; last level: no lower than the first. Only the least possible cost earns everything.`,
    (one) =>
      `You control a battery behind a meter for hours 0 to ${one.hours.length - 1}. Prices and loads are known. Charging and discharging are whole units within the power limit. The level must stay between empty and full and may not end below where it began. Find and set the plan with the lowest total of purchases (price x bought units) and wear (per unit discharged).`,
    (one) =>
      `Buy cheap, use it when it is dear: plan a battery over ${one.hours.length} hours so that purchases plus wear are least. Bought in an hour: load plus charge, or load minus discharge, never below 0. Mind capacity, power, the starting level, and that it has to be there again at the end. An hour that is not set does nothing.`,
  ],
  tools,
  world: (instance) => ({ instance, plan: instance.hours.map(() => 0) }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const last = instance.plan.findLastIndex((units) => units !== 0);
    return {
      "forgets the last hour": script(
        instance,
        instance.plan.map((units, hour) => (hour === last ? 0 : units)),
      ),
      "does nothing": script(
        instance,
        instance.plan.map(() => 0),
      ),
      "all turned round": script(
        instance,
        instance.plan.map((units) => -units),
      ),
      "cheapest in, dearest out": script(instance, pair(instance)),
    };
  },
  blankets: (instance) => ({
    "cheapest in, dearest out": script(instance, pair(instance)),
    "empties it at once": script(
      instance,
      instance.plan.map((_, hour) =>
        hour === 0 ? -Math.min(instance.start, instance.power, at(instance.hours, 0).load) : 0,
      ),
    ),
    "in and out by turns": script(
      instance,
      instance.plan.map((_, hour) => (hour % 2 === 0 ? 1 : -1)),
    ),
  }),
  grade: (instance, { plan }) => {
    const cost = costOf(instance, plan);
    return cost === null ? 0 : Math.max(0, (instance.idle - cost) / (instance.idle - instance.best)) ** 4;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, capacity, power] = at(SIZES, level - 1);
  const hours = range(count).map(() => ({ price: between(rng, 4, 40), load: between(rng, 0, 6) }));
  const draft = { hours, capacity, power, start: rng.integer(capacity), wear: between(rng, 1, 4) };
  const { plan, cost } = optimum(draft);
  const idle =
    costOf(
      draft,
      hours.map(() => 0),
    ) ?? 0;
  const simple = pair(draft);
  const simpleCost = costOf(draft, simple) ?? idle;
  const isLazy = idle - simpleCost > 0.6 * (idle - cost);
  return idle - cost < 20 || isLazy || plan.filter((units) => units !== 0).length < 3
    ? null
    : { ...draft, plan, best: cost, idle };
}

type Draft = Pick<Instance, "hours" | "capacity" | "power" | "start" | "wear">;

/** Null for a plan that breaks a limit. */
function costOf({ hours, capacity, power, start, wear }: Draft, plan: readonly number[]): number | null {
  let [held, cost] = [start, 0];
  for (const [hour, { price, load }] of hours.entries()) {
    const units = at(plan, hour);
    held += units;
    if (held < 0 || held > capacity || Math.abs(units) > power || load + units < 0) return null;
    cost += price * (load + units) + (units < 0 ? -units * wear : 0);
  }
  return held < start ? null : cost;
}

/** Over hours and levels; the first of equally cheap plans. */
function optimum({ hours, capacity, power, start, wear }: Draft): { plan: number[]; cost: number } {
  let reached = new Map<number, { plan: number[]; cost: number }>([[start, { plan: [], cost: 0 }]]);
  for (const { price, load } of hours) {
    const next: typeof reached = new Map();
    for (const [held, { plan, cost }] of reached)
      for (let units = -Math.min(power, held, load); units <= Math.min(power, capacity - held); units++) {
        const sum = cost + price * (load + units) + (units < 0 ? -units * wear : 0);
        if (sum < (next.get(held + units)?.cost ?? Infinity))
          next.set(held + units, { plan: [...plan, units], cost: sum });
      }
    reached = next;
  }
  const ends = [...reached].filter(([held]) => held >= start).map(([, end]) => end);
  return ends.reduce((a, b) => (b.cost < a.cost ? b : a));
}

/** Charges in the cheapest hour and discharges in the dearest one behind it. */
function pair({ hours, capacity, power, start }: Draft): number[] {
  const cheapest = hours.reduce((best, { price }, hour) => (price < at(hours, best).price ? hour : best), 0);
  const later = range(hours.length).filter((hour) => hour > cheapest);
  const dearest = later.reduce(
    (best, hour) => (at(hours, hour).price > at(hours, best).price ? hour : best),
    later[0] ?? 0,
  );
  const units = Math.min(power, capacity - start, at(hours, dearest).load);
  return hours.map((_, hour) =>
    hour === cheapest && later.length > 0 ? units : hour === dearest && later.length > 0 ? -units : 0,
  );
}

function script({ hours }: Instance, plan: readonly number[]): Script {
  return [
    call("battery"),
    ...range(Math.ceil(hours.length / PAGE)).map((page) => call("forecast", { from: page * PAGE })),
    ...plan.flatMap((units, hour): Call[] => (units === 0 ? [] : [call("set_hour", { hour, units })])),
  ];
}
