/** meeting-calendar: meetings are placed for people in several time zones, with as few other appointments moved as possible. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { batches, call, namesOf, recordName, recordNames, recordOf } from "../records.ts";

interface Person {
  id: string;
  name: string;
  /** Hours ahead of UTC. */
  zone: number;
}

/** A slot is day * 24 + hour in UTC; everything takes an hour. */
interface Appointment {
  id: string;
  person: string;
  slot: number;
  fixed: boolean;
}

interface Meeting {
  id: string;
  people: string[];
}

interface Instance {
  days: number;
  people: Person[];
  appointments: Appointment[];
  meetings: Meeting[];
  /** Slots of the meetings, new slots of appointments. */
  plan: { meetings: number[]; moves: [appointment: string, slot: number][] };
  /** Combinations that the search has looked at. */
  searched: number;
}

interface World {
  readonly instance: Instance;
  readonly slots: Map<string, number>;
  readonly booked: Map<string, number>;
  readonly cancelled: Set<string>;
}

const FIRST_HOUR = 9;
const LAST_HOUR = 16;
/** By level: people, meetings, people of a meeting, days, appointments of each person. */
const SIZES = [
  [3, 1, 2, 1, 4],
  [4, 1, 3, 2, 10],
  [5, 2, 3, 2, 11],
  [7, 2, 4, 3, 17],
  [9, 3, 4, 3, 18],
] as const;
/** Hours that a policy could try without a look at calendars. */
const GUESSED_HOURS = [9, 12, 14];
const MOST_COMBINATIONS = 20_000;

const slotShape = {
  day: z.int().min(1).max(7).describe("day in UTC, from 1"),
  hour: z.int().min(0).max(23).describe("hour in UTC at which it begins"),
};

const tools = {
  list_people: worldTool<World, z.ZodObject>({
    description: "People with the hours by which their clock is ahead of UTC",
    parameters: z.object({}),
    run: ({ instance }) => instance.people,
  }),
  calendar: worldTool({
    description: "The appointments of people, in each person's local time",
    parameters: z.object({ people: recordNames.max(5) }),
    run: ({ instance, slots, cancelled, booked }: World, { people }) =>
      people.map((id) => {
        const { zone } = recordOf(instance.people, id, "person");
        const own = instance.appointments.filter((one) => one.person === id && !cancelled.has(one.id));
        const meetings = instance.meetings.filter((one) => one.people.includes(id) && booked.has(one.id));
        return {
          person: id,
          appointments: own.map((one) => ({
            id: one.id,
            ...localTime(slots.get(one.id) ?? one.slot, zone),
            fixed: one.fixed,
          })),
          meetings: meetings.map((one) => ({ id: one.id, ...localTime(booked.get(one.id) ?? 0, zone) })),
        };
      }),
  }),
  book: worldTool({
    description: "Books a meeting, or books it anew. Calendars may overlap",
    parameters: z.object({ meeting: recordName, ...slotShape }),
    run: ({ instance, booked }: World, { meeting, day, hour }) => {
      recordOf(instance.meetings, meeting, "meeting");
      booked.set(meeting, slotOf(instance, day, hour));
      return "booked";
    },
  }),
  move: worldTool({
    description: "Moves an appointment. Calendars may overlap",
    parameters: z.object({ appointment: recordName, ...slotShape }),
    run: ({ instance, slots }: World, { appointment, day, hour }) => {
      const { fixed } = recordOf(instance.appointments, appointment, "appointment");
      if (fixed) throw new Refusal(`${appointment} is fixed`);
      slots.set(appointment, slotOf(instance, day, hour));
      return "moved";
    },
  }),
  cancel: worldTool({
    description: "Cancels an appointment",
    parameters: z.object({ appointment: recordName }),
    run: ({ instance, cancelled }: World, { appointment }) => {
      recordOf(instance.appointments, appointment, "appointment");
      cancelled.add(appointment);
      return "cancelled";
    },
  }),
};

const HOURS = `from ${FIRST_HOUR} to ${LAST_HOUR + 1} o'clock of the person's local time`;

export const meetingCalendar = defineWorldRow<Instance, World>({
  id: "meeting-calendar",
  asks: "place meetings of people in several time zones, with as few moved appointments as possible",
  make,
  effort: ({ searched, appointments }) => searched + appointments.length,
  canonical: ({ people, appointments, meetings }) => [
    people.map(({ zone }) => zone),
    appointments.map(({ slot, fixed }) => [slot, fixed]),
    meetings.map((one) => one.people.length),
  ],
  prompts: [
    (one) =>
      `Book these meetings of one hour on days 1 to ${one.days} (UTC):\n${meetingList(one)}\n\nEverything that a person has must lie ${HOURS}, on days 1 to ${one.days} of UTC, and no two things of a person may overlap. Appointments that are not fixed may be moved, but move as few as possible; cancel none. All times that you give are in UTC.`,
    (one) =>
      `New meetings:\n${meetingList(one)}\nEach takes an hour, within days 1 to ${one.days} in UTC. Working time is ${HOURS}, for meetings and appointments alike. If there is no free hour, appointments that are not fixed can be shifted to other free working hours of their owner: the fewer the better, and a solution with more moves than necessary is not full. A cancelled appointment spoils everything. The tools that change something take UTC.`,
    (one) =>
      `You manage the calendars of a spread team. To do:\n${meetingList(one)}\n(an hour each, beginning on the hour, days 1 to ${one.days} of UTC)\n\nRules: work happens only ${HOURS}; at no time does a person have two things at once, and that includes moved appointments; cancelling is not allowed; the number of moved appointments is to be the least possible. Calendars show local time, bookings take UTC.`,
    (one) =>
      `Find times for\n${meetingList(one)}\nso that all who are named can come. Conditions: one hour each; days 1 to ${one.days}, counted in UTC; ${HOURS}; no one is in two places at a time. You may move appointments that are not marked as fixed into another hour that fits their owner, yet only where it cannot be avoided, and you must not cancel any. Give days and hours in UTC.`,
  ],
  tools,
  world: (instance) => ({ instance, slots: new Map(), booked: new Map(), cancelled: new Set() }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const { meetings, moves } = instance.plan;
    const gold = script(instance, instance.plan);
    const last = at(instance.meetings, meetings.length - 1);
    // What is moved away leaves its hour free.
    const taken = at(
      instance.appointments.filter(
        ({ id, person }) => last.people.includes(person) && moves.every(([moved]) => moved !== id),
      ),
      0,
    );
    const spare = instance.appointments.find(({ id, fixed }) => !fixed && moves.every(([moved]) => moved !== id));
    const other = spare === undefined ? null : freeSlots(instance, spare.person)[0];
    return {
      "books over an appointment": script(instance, { meetings: [...meetings.slice(0, -1), taken.slot], moves }),
      "cancels instead of moving": [
        ...gold.filter(({ tool }) => tool !== "move"),
        ...(moves.length === 0 ? [at(instance.appointments, 0).id] : moves.map(([id]) => id)).map((id) =>
          call("cancel", { appointment: id }),
        ),
      ],
      "books the last meeting nowhere": gold.filter(({ args }) => args["meeting"] !== last.id),
      "books at noon and moves nothing": script(instance, {
        meetings: meetings.map((_, index) => guessedSlot(instance, 12, index)),
        moves: [],
      }),
      ...(spare === undefined || other === undefined || other === null
        ? {}
        : { "moves one more": script(instance, { meetings, moves: [...moves, [spare.id, other]] }) }),
    };
  },
  blankets: (instance) =>
    Object.fromEntries(
      GUESSED_HOURS.map((hour) => [
        `everything at ${hour}`,
        script(instance, {
          meetings: instance.meetings.map((_, index) => guessedSlot(instance, hour, index)),
          moves: [],
        }),
      ]),
    ),
  grade,
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, meetingCount, size, days, load] = at(SIZES, level - 1);
  const ids = namesOf("emp", count, rng);
  const people = ids.map((id) => ({ id, name: name(rng), zone: between(rng, -2, 3) }));
  const appointments = people.flatMap(({ id, zone }) =>
    sample(workSlots(days, zone), load, rng).map((slot) => ({ id: "", person: id, slot, fixed: rng.integer(5) < 3 })),
  );
  const names = namesOf("app", appointments.length, rng);
  for (const [index, one] of appointments.entries()) one.id = at(names, index);
  const meetings = namesOf("meet", meetingCount, rng).map((id) => ({ id, people: sample(ids, size, rng) }));
  const draft = { days, people, appointments, meetings };
  const found = solve(draft);
  if (found === null) return null;
  const instance = { ...draft, ...found };
  const needsMoves = found.plan.moves.length > 0;
  const isGuessed = GUESSED_HOURS.some((hour) => {
    const booked = new Map(meetings.map(({ id }, index) => [id, guessedSlot(instance, hour, index)]));
    return grade(instance, { instance, slots: new Map(), booked, cancelled: new Set() }) > 0;
  });
  // Only level 1 may do without moves.
  return (needsMoves || level === 1) && !isGuessed ? instance : null;
}

type Draft = Pick<Instance, "days" | "people" | "appointments" | "meetings">;

/** An hour on the days in turn. */
function guessedSlot({ days }: Instance, hour: number, index: number): number {
  return 24 * (index % days) + hour;
}

/** Slots in which a person works. */
function workSlots(days: number, zone: number): number[] {
  return range(days * 24).filter((slot) => {
    const { hour } = localTime(slot, zone);
    return hour >= FIRST_HOUR && hour <= LAST_HOUR;
  });
}

/** Meetings with the fewest moves, by trying all slots; null where moving one by one does not reach the bound. */
function solve(draft: Draft): Pick<Instance, "plan" | "searched"> | null {
  const { days, people, appointments, meetings } = draft;
  const choices = meetings.map((meeting) => {
    const attending = people.filter(({ id }) => meeting.people.includes(id));
    return range(days * 24).flatMap((slot) => {
      if (attending.some(({ zone }) => !workSlots(days, zone).includes(slot))) return [];
      const inTheWay = appointments.filter((one) => one.slot === slot && meeting.people.includes(one.person));
      return inTheWay.some(({ fixed }) => fixed) ? [] : [{ slot, moved: inTheWay.map(({ id }) => id) }];
    });
  });
  const combinations = choices.reduce((product, some) => product * some.length, 1);
  if (combinations === 0 || combinations > MOST_COMBINATIONS) return null;
  let best: { slots: number[]; moved: string[] } | null = null;
  for (let code = 0; code < combinations; code++) {
    let rest = code;
    const chosen = choices.map((some) => {
      const index = rest % some.length;
      rest = Math.floor(rest / some.length);
      return at(some, index);
    });
    const clash = chosen.some(({ slot }, a) =>
      chosen.some(
        (other, b) =>
          b > a && other.slot === slot && at(meetings, a).people.some((id) => at(meetings, b).people.includes(id)),
      ),
    );
    const moved = [...new Set(chosen.flatMap((one) => one.moved))];
    if (!clash && (best === null || moved.length < best.moved.length))
      best = { slots: chosen.map(({ slot }) => slot), moved };
  }
  if (best === null) return null;
  const moves: [string, number][] = [];
  for (const id of best.moved) {
    const { person } = at(
      appointments.filter((one) => one.id === id),
      0,
    );
    const free = freeSlots(draft, person).find(
      (slot) =>
        !meetings.some((meeting, index) => meeting.people.includes(person) && best.slots[index] === slot) &&
        !moves.some(
          ([other, taken]) => taken === slot && appointments.some((one) => one.id === other && one.person === person),
        ),
    );
    if (free === undefined) return null;
    moves.push([id, free]);
  }
  return { plan: { meetings: best.slots, moves }, searched: combinations };
}

/** Working hours of a person without an appointment. */
function freeSlots({ days, people, appointments }: Draft, person: string): number[] {
  const { zone } = recordOf(people, person, "person");
  const taken = new Set(appointments.filter((one) => one.person === person).map(({ slot }) => slot));
  return workSlots(days, zone).filter((slot) => !taken.has(slot));
}

/** 0 when a calendar is broken; below 1 without all meetings or with more moves than necessary. */
function grade(instance: Instance, { slots, booked, cancelled }: World): number {
  const { days, people, appointments, meetings, plan } = instance;
  if (cancelled.size > 0) return 0;
  const moved = appointments.filter(({ id, slot }) => (slots.get(id) ?? slot) !== slot).length;
  const isBroken = people.some(({ id, zone }) => {
    const taken = [
      ...appointments.filter((one) => one.person === id).map((one) => slots.get(one.id) ?? one.slot),
      ...meetings.filter((one) => one.people.includes(id)).flatMap((one) => booked.get(one.id) ?? []),
    ];
    const allowed = new Set(workSlots(days, zone));
    return new Set(taken).size < taken.length || taken.some((slot) => !allowed.has(slot));
  });
  if (isBroken) return 0;
  const placed = meetings.filter(({ id }) => booked.has(id)).length / meetings.length;
  return placed < 1 ? placed ** 2 / 2 : Math.min(1, (plan.moves.length + 1) / (moved + 1));
}

function localTime(slot: number, zone: number): { day: number; hour: number } {
  const local = slot + zone;
  return { day: 1 + Math.floor(local / 24), hour: ((local % 24) + 24) % 24 };
}

function slotOf({ days }: Instance, day: number, hour: number): number {
  if (day > days) throw new Refusal(`there are days 1 to ${days}`);
  return (day - 1) * 24 + hour;
}

function script({ people, meetings }: Instance, plan: Instance["plan"]): Script {
  const time = (slot: number): Call["args"] => ({ day: 1 + Math.floor(slot / 24), hour: slot % 24 });
  return [
    call("list_people"),
    ...batches(
      people.map(({ id }) => id),
      5,
    ).map((some) => call("calendar", { people: some })),
    ...plan.moves.map(([appointment, slot]) => call("move", { appointment, ...time(slot) })),
    ...meetings.map(({ id }, index) => call("book", { meeting: id, ...time(at(plan.meetings, index)) })),
  ];
}

function meetingList({ meetings, people }: Instance): string {
  return meetings
    .map(({ id, people: attending }) => {
      const named = attending.map((one) => `${recordOf(people, one, "person").name} (${one})`);
      return `- ${id}: ${named.join(", ")}`;
    })
    .join("\n");
}
