/** itinerary-booking: the cheapest journey under rules is booked leg by leg; held seats expire and booked ones cannot be returned. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, call, namesOf, recordName, recordOf } from "../records.ts";

interface Leg {
  id: string;
  from: string;
  to: string;
  /** Minutes after the beginning of the first day. */
  departs: number;
  arrives: number;
  price: number;
  carrier: string;
}

interface Instance {
  legs: Leg[];
  start: string;
  goal: string;
  /** Latest arrival, least time between two legs. */
  latest: number;
  change: number;
  /** A carrier that must not be used. */
  banned: string;
  plan: string[];
  price: number;
  /** Price of the journey that arrives first. */
  naive: number;
  searched: number;
}

interface World {
  readonly instance: Instance;
  /** Number of the call at which a seat was taken. */
  readonly held: Map<string, number>;
  readonly booked: Set<string>;
  calls: number;
}

/** By level: towns, legs, least legs of the journey. */
const SIZES = [
  [4, 14, 2],
  [5, 26, 2],
  [6, 44, 2],
  [7, 64, 3],
  [8, 90, 3],
] as const;
const DAY = 1440;
const DAYS = 2;
const CARRIERS = ["Aro", "Belt", "Coma", "Dune"];
/** Calls after which a held seat is lost. */
const HOLD = 6;
const MOST_JOURNEYS = 30_000;

const tools = {
  search: worldTool({
    description: "Legs from one town to another, or to all towns, by departure. Prices are those of one seat",
    parameters: z.object({ from: recordName, to: recordName.nullable().describe("null: any town") }),
    run: (world: World, { from, to }) => {
      tick(world);
      const found = world.instance.legs.filter((leg) => leg.from === from && (to === null || leg.to === to));
      return found
        .toSorted((a, b) => a.departs - b.departs)
        .map(({ departs, arrives, ...leg }) => ({ ...leg, departs: clock(departs), arrives: clock(arrives) }));
    },
  }),
  hold: worldTool({
    description: `Holds a seat; it is lost after ${HOLD} further calls unless it is booked`,
    parameters: z.object({ leg: recordName }),
    run: (world: World, { leg }) => {
      tick(world);
      recordOf(world.instance.legs, leg, "leg");
      world.held.set(leg, world.calls);
      return "held";
    },
  }),
  book: worldTool({
    description: "Books a held seat and pays for it; it cannot be returned",
    parameters: z.object({ leg: recordName }),
    run: (world: World, { leg }) => {
      tick(world);
      recordOf(world.instance.legs, leg, "leg");
      if (!world.held.has(leg)) throw new Refusal(`no seat of ${leg} is held`);
      world.held.delete(leg);
      world.booked.add(leg);
      return { paid: [...world.booked].reduce((sum, id) => sum + recordOf(world.instance.legs, id, "leg").price, 0) };
    },
  }),
};

export const itineraryBooking = defineWorldRow<Instance, World>({
  id: "itinerary-booking",
  asks: "book the cheapest journey that keeps the rules, with seats that are held for a short time and cannot be returned",
  make,
  effort: ({ searched, legs }) => searched + legs.length,
  canonical: ({ legs, start, goal }) => [
    legs.map(({ id, price }) => JSON.stringify([id, price])).toSorted(),
    start,
    goal,
  ],
  prompts: [
    (one) =>
      `Book a journey from ${one.start} to ${one.goal} that arrives by ${clock(one.latest)}. It may begin at any time from day 1 on. Between two legs there have to be at least ${one.change} minutes. The carrier ${one.banned} must not be used. Among the journeys that comply, book the cheapest; a seat that is not part of it is money lost.`,
    (one) =>
      `Destination: ${one.goal}. Start: ${one.start}. Latest arrival: ${clock(one.latest)}.\nA change takes ${one.change} minutes or longer. No leg of ${one.banned}.\n\nHold and book all legs of the least expensive possible journey, and nothing else. Bookings are final.`,
    (one) =>
      `Our client has to be in ${one.goal} no later than ${clock(one.latest)}, starting from ${one.start}, refuses to travel with ${one.banned}, and needs ${one.change} minutes for each change of vehicle. Find the lowest total price that fits and book exactly those seats. Look at the legs of several towns before you pay: the earliest connection is seldom the cheapest.`,
    (one) =>
      `Travel request\nfrom: ${one.start}\nto: ${one.goal}, at the latest ${clock(one.latest)}\nminutes to change: ${one.change} or more\nexcluded: ${one.banned}\nwish: as cheap as possible\n\nBook it. Whatever you book stays booked, and only a complete journey at the lowest price earns everything.`,
  ],
  tools,
  world: (instance) => ({ instance, held: new Map(), booked: new Set(), calls: 0 }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const { plan, legs } = instance;
    const spare = legs.find(({ id }) => !plan.includes(id));
    const fast = journeys(instance).fastest ?? plan.slice(1);
    return {
      "the last leg is not booked": script(instance, plan.slice(0, -1)),
      "the journey that arrives first": script(instance, fast),
      "one seat too many": script(instance, [...plan, spare?.id ?? ""]),
      "held and not booked": script(instance, plan).filter(({ tool }) => tool !== "book"),
      "held too early": [
        ...plan.map((leg) => call("hold", { leg })),
        ...range(HOLD + 1).map(() => call("search", { from: instance.start, to: null })),
        ...plan.map((leg) => call("book", { leg })),
      ],
    };
  },
  blankets: (instance) => ({
    "the journey that arrives first": script(instance, journeys(instance).fastest ?? []),
    "the cheapest direct leg": script(
      instance,
      instance.legs
        .filter(({ from, to }) => from === instance.start && to === instance.goal)
        .toSorted((a, b) => a.price - b.price)
        .slice(0, 1)
        .map(({ id }) => id),
    ),
    "the cheapest leg of the first town": script(
      instance,
      instance.legs
        .filter(({ from }) => from === instance.start)
        .toSorted((a, b) => a.price - b.price)
        .slice(0, 1)
        .map(({ id }) => id),
    ),
  }),
  grade,
});

function make(rng: Rng, level: Level): Instance | null {
  const [townCount, count, least] = at(SIZES, level - 1);
  const towns = distinct(townCount, () => name(rng));
  const [start = "", goal = "", ...others] = towns;
  const legs = namesOf("leg", count, rng).map((id): Leg => {
    const [from = "", to = ""] = sample([start, goal, ...others], 2, rng);
    const departs = 10 * between(rng, 36, (DAYS * DAY) / 10 - 40);
    return {
      id,
      from,
      to,
      departs,
      arrives: departs + 10 * between(rng, 4, 24),
      price: between(rng, 15, 160) + (from === start && to === goal ? 150 : 0),
      carrier: rng.pick(CARRIERS),
    };
  });
  const draft = {
    legs,
    start,
    goal,
    latest: 60 * between(rng, 30, 46),
    change: 10 * between(rng, 2, 6),
    banned: rng.pick(CARRIERS),
  };
  const { cheapest, fastest, searched } = journeys(draft);
  if (cheapest === null || fastest === null || cheapest.length < least) return null;
  const [price, naive] = [priceOf(draft, cheapest), priceOf(draft, fastest)];
  // Mostly another journey would be cheaper without the rules: they matter.
  const free = journeys({ ...draft, banned: "", change: 0 }).cheapest;
  const isRuled = free !== null && priceOf(draft, free) < price;
  return naive > price && (isRuled || rng.integer(3) === 0)
    ? { ...draft, plan: cheapest, price, naive, searched }
    : null;
}

type Draft = Pick<Instance, "legs" | "start" | "goal" | "latest" | "change" | "banned">;

interface Journey {
  readonly legs: readonly Leg[];
  readonly value: number;
}

/** The cheapest journey and the one that arrives first, among all. */
function journeys(one: Draft): { cheapest: string[] | null; fastest: string[] | null; searched: number } {
  let searched = 0;
  const best: { cheapest: Journey | null; fastest: Journey | null } = { cheapest: null, fastest: null };
  const extend = (legs: readonly Leg[], town: string, ready: number, price: number): void => {
    for (const leg of one.legs) {
      if (leg.from !== town || leg.departs < ready || leg.arrives > one.latest || leg.carrier === one.banned) continue;
      if (leg.to === one.start || legs.some(({ from }) => from === leg.to) || searched >= MOST_JOURNEYS) continue;
      searched += 1;
      const [next, paid] = [[...legs, leg], price + leg.price];
      if (leg.to !== one.goal) extend(next, leg.to, leg.arrives + one.change, paid);
      else {
        if (paid < (best.cheapest?.value ?? Infinity)) best.cheapest = { legs: next, value: paid };
        if (leg.arrives < (best.fastest?.value ?? Infinity)) best.fastest = { legs: next, value: leg.arrives };
      }
    }
  };
  extend([], one.start, 0, 0);
  const ids = (found: Journey | null): string[] | null => found?.legs.map(({ id }) => id) ?? null;
  return searched >= MOST_JOURNEYS
    ? { cheapest: null, fastest: null, searched }
    : { cheapest: ids(best.cheapest), fastest: ids(best.fastest), searched };
}

/** 0 unless the booked legs are one journey that keeps the rules; then by price, above the journey that arrives first. */
function grade(instance: Instance, { booked }: World): number {
  const { start, goal, latest, change, banned, price, naive } = instance;
  const legs = [...booked].map((id) => recordOf(instance.legs, id, "leg")).toSorted((a, b) => a.departs - b.departs);
  const [first] = legs;
  const last = legs.at(-1);
  if (first?.from !== start || last?.to !== goal || last.arrives > latest) return 0;
  const isJourney = legs.every((leg, index) => {
    const before = legs[index - 1];
    return (
      leg.carrier !== banned &&
      (before === undefined || (before.to === leg.from && before.arrives + change <= leg.departs))
    );
  });
  if (!isJourney) return 0;
  return aboveBase(Math.min(1, price / priceOf(instance, [...booked])), price / naive) ** 2;
}

function priceOf({ legs }: Pick<Instance, "legs">, ids: readonly string[]): number {
  return ids.reduce((sum, id) => sum + recordOf(legs, id, "leg").price, 0);
}

/** One more call; seats that were held for too long are lost. */
function tick(world: World): void {
  world.calls += 1;
  for (const [leg, since] of world.held) if (world.calls - since > HOLD) world.held.delete(leg);
}

/** Looks at all legs of the towns that can be reached, then holds and books leg by leg. */
function script({ legs, start, goal }: Instance, ids: readonly string[]): Script {
  const towns = [start, ...new Set(legs.map(({ from }) => from).filter((town) => town !== start && town !== goal))];
  return [
    ...towns.map((from) => call("search", { from, to: null })),
    ...ids.flatMap((leg) => [call("hold", { leg }), call("book", { leg })]),
  ];
}

function clock(minutes: number): string {
  const [hour, minute] = [Math.floor((minutes % DAY) / 60), minutes % 60].map((part) => String(part).padStart(2, "0"));
  return `day ${1 + Math.floor(minutes / DAY)}, ${hour}:${minute}`;
}
