/** trip-dispatch: trips are given to vehicles so that the value of those served is greatest, where the best-paid first is not best. */
import { z } from "zod";

import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, pageOf, pageStart, recordName, recordOf } from "../records.ts";

interface Trip {
  id: string;
  /** Places on a road in km, the minute at which the passenger waits, and the fare. */
  from: number;
  to: number;
  start: number;
  fare: number;
}

interface Vehicle {
  id: string;
  place: number;
}

interface Instance {
  trips: Trip[];
  vehicles: Vehicle[];
  plan: { vehicle: string; trip: string }[];
  best: number;
  base: number;
  searched: number;
}

interface World {
  readonly instance: Instance;
  readonly given: Map<string, string>;
}

/** By level: trips, vehicles. */
const SIZES = [
  [4, 1],
  [6, 1],
  [8, 2],
  [11, 2],
  [14, 3],
] as const;
const PAGE = 7;
const ROAD = 40;

const assignShape = z.object({ vehicle: recordName, trip: recordName });

const tools = {
  list_trips: worldTool<World, typeof pageStart>({
    description: `Trips that were asked for, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.trips, from, PAGE),
  }),
  list_vehicles: worldTool<World, z.ZodObject>({
    description: "Vehicles with their places at minute 0",
    parameters: z.object({}),
    run: ({ instance }) => instance.vehicles,
  }),
  assign: worldTool<World, typeof assignShape>({
    description: "Promises a trip with a vehicle; promises are kept",
    parameters: assignShape,
    run: ({ instance, given }, { vehicle: id, trip }) => {
      const vehicle = recordOf(instance.vehicles, id, "vehicle");
      const wanted = recordOf(instance.trips, trip, "trip");
      if (given.has(trip)) throw new Refusal(`${trip} is promised already`);
      const own = instance.trips.filter((one) => given.get(one.id) === id);
      if (!isPossible(vehicle, [...own, wanted])) throw new Refusal(`${id} cannot be there in time`);
      given.set(trip, id);
      return { vehicle: id, trips: own.length + 1 };
    },
  }),
};

export const tripDispatch = defineWorldRow<Instance, World>({
  id: "trip-dispatch",
  asks: "promise trips on a road to vehicles for the greatest sum of fares, each in time and for good",
  make,
  effort: ({ searched }) => searched,
  canonical: ({ trips, vehicles }) => [
    trips.map(({ from, to, start, fare }) => [from, to, start, fare]),
    vehicles.map(({ place }) => place),
  ],
  prompts: [
    () =>
      `Dispatch vehicles on a straight road. A vehicle drives a kilometre in a minute. For each trip it has to be at the place "from" (km) not later than the minute "start"; it waits until then, and drives to "to". Take the trips that bring the most in fares together, and assign them. An assignment cannot be taken back.`,
    () =>
      `Which trips should be served, and by which vehicle? Speed is 1 km a minute, the road is straight, every vehicle begins at its place at minute 0 and carries one trip at a time. A trip starts exactly at its minute. The sum of fares of assigned trips has to be the greatest possible; assignments are final.`,
    () =>
      `Maximise fares. Between the end of a trip and the start of the next a vehicle drives empty (1 km per minute) and must arrive in time; a trip lasts as many minutes as it has kilometres. Not all trips can be served. Choose well before you assign the first: a promise stands.`,
    () =>
      `A taxi firm knows all requests of the day. Assign those that together pay the most. Conditions: the vehicle reaches the pick-up before or at the start minute (it moves one kilometre per minute, also when empty), and trips of one vehicle do not overlap. Every assignment binds.`,
  ],
  tools,
  world: (instance) => ({ instance, given: new Map() }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => ({
    "one trip alone": script(instance, instance.plan.slice(1, 2)),
    "leaves the last trip": script(instance, instance.plan.slice(0, -1)),
    "the best paid first": script(
      instance,
      greedy(instance, (a, b) => b.fare - a.fare),
    ),
    "the earliest first": script(
      instance,
      greedy(instance, (a, b) => a.start - b.start),
    ),
    "begins with a trip that is left out": script(instance, spoiled(instance)),
  }),
  blankets: (instance) => ({
    "the best paid first": script(
      instance,
      greedy(instance, (a, b) => b.fare - a.fare),
    ),
    "the earliest first": script(
      instance,
      greedy(instance, (a, b) => a.start - b.start),
    ),
    "in the order of the list": script(
      instance,
      greedy(instance, () => 0),
    ),
  }),
  grade: ({ trips, best, base }, { given }) => {
    const fares = trips.filter(({ id }) => given.has(id)).reduce((sum, { fare }) => sum + fare, 0);
    return Math.max(0, (fares - base) / (best - base)) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, vehicleCount] = at(SIZES, level - 1);
  const trips = namesOf("trip", count, rng).map((id): Trip => {
    const [from, to] = [rng.integer(ROAD), rng.integer(ROAD)];
    return {
      id,
      from,
      to,
      start: between(rng, 10, 22 * Math.ceil(count / vehicleCount / 1.4)),
      fare: Math.abs(from - to) + between(rng, 3, 25),
    };
  });
  if (trips.some(({ from, to }) => from === to)) return null;
  const vehicles = namesOf("car", vehicleCount, rng).map((id) => ({ id, place: rng.integer(ROAD) }));
  const draft = { trips, vehicles };
  const { plan, best, searched } = optimum(draft);
  const orders: ((a: Trip, b: Trip) => number)[] = [(a, b) => b.fare - a.fare, (a, b) => a.start - b.start, () => 0];
  const faresOf = (some: Instance["plan"]): number =>
    some.reduce((sum, { trip }) => sum + recordOf(trips, trip, "trip").fare, 0);
  const base = Math.max(...orders.map((order) => faresOf(greedy(draft, order))));
  return best - base < 3 || plan.length < 2 || plan.length === count ? null : { ...draft, plan, best, base, searched };
}

/** Whether a vehicle can make these trips. */
function isPossible({ place }: Vehicle, some: readonly Trip[]): boolean {
  let [now, here] = [0, place];
  for (const { from, to, start } of some.toSorted((a, b) => a.start - b.start)) {
    if (now + Math.abs(here - from) > start) return false;
    [now, here] = [start + Math.abs(to - from), to];
  }
  return true;
}

/** Trips in the order of their start go to a vehicle or to none; states with the same ends of vehicles are one. */
function optimum({
  trips,
  vehicles,
}: Pick<Instance, "trips" | "vehicles">): Pick<Instance, "plan" | "best" | "searched"> {
  const order = trips.toSorted((a, b) => a.start - b.start);
  interface State {
    ends: { now: number; place: number }[];
    plan: Instance["plan"];
    sum: number;
  }
  let states: State[] = [{ ends: vehicles.map(({ place }) => ({ now: 0, place })), plan: [], sum: 0 }];
  let searched = 0;
  for (const trip of order) {
    const next = new Map<string, State>();
    const keep = (state: State): void => {
      searched += 1;
      const key = JSON.stringify(state.ends);
      if ((next.get(key)?.sum ?? -1) < state.sum) next.set(key, state);
    };
    for (const state of states) {
      keep(state);
      for (const [index, { now, place }] of state.ends.entries()) {
        if (now + Math.abs(place - trip.from) > trip.start) continue;
        const end = { now: trip.start + Math.abs(trip.to - trip.from), place: trip.to };
        keep({
          ends: state.ends.map((one, other) => (other === index ? end : one)),
          plan: [...state.plan, { vehicle: at(vehicles, index).id, trip: trip.id }],
          sum: state.sum + trip.fare,
        });
      }
    }
    states = [...next.values()];
  }
  const best = states.reduce((a, b) => (b.sum > a.sum ? b : a));
  return { plan: best.plan, best: best.sum, searched };
}

/** Trips in this order, each with the first vehicle that can take it. */
function greedy(
  { trips, vehicles }: Pick<Instance, "trips" | "vehicles">,
  order: (a: Trip, b: Trip) => number,
): Instance["plan"] {
  const own = new Map<string, Trip[]>(vehicles.map(({ id }) => [id, []]));
  return trips.toSorted(order).flatMap((trip) => {
    const vehicle = vehicles.find((one) => isPossible(one, [...(own.get(one.id) ?? []), trip]));
    if (vehicle === undefined) return [];
    own.get(vehicle.id)?.push(trip);
    return [{ vehicle: vehicle.id, trip: trip.id }];
  });
}

/** A trip that is not in the plan comes first, and what then is possible. */
function spoiled({ trips, vehicles, plan, best }: Instance): Instance["plan"] {
  const chosen = new Set(plan.map(({ trip }) => trip));
  const options = trips
    .filter(({ id }) => !chosen.has(id))
    .map((trip) =>
      greedy({ trips: [trip, ...plan.map((one) => recordOf(trips, one.trip, "trip"))], vehicles }, () => 0),
    );
  const worse = options.filter(
    (some) => some.reduce((sum, { trip }) => sum + recordOf(trips, trip, "trip").fare, 0) < best,
  );
  return worse[0] ?? [];
}

function script({ trips }: Instance, plan: Instance["plan"]): Script {
  return [
    ...range(Math.ceil(trips.length / PAGE)).map((page) => call("list_trips", { from: page * PAGE })),
    call("list_vehicles"),
    ...plan.map((one): Call => call("assign", { ...one })),
  ];
}
