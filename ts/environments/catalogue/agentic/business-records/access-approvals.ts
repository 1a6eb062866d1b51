/** access-approvals: every request gets approvers under separation of duties, authority, absence and a limit for each approver. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, batches, call, namesOf, pageOf, pageStart, recordName, recordNames, recordOf } from "../records.ts";

interface Person {
  id: string;
  name: string;
  team: string;
  /** Highest risk that the person may approve; 0: none. */
  authority: number;
  /** Requests that the person can still take. */
  capacity: number;
  manager: string | null;
  absent: boolean;
}

interface Request {
  id: string;
  person: string;
  risk: number;
  system: string;
}

interface Instance {
  people: Person[];
  requests: Request[];
  /** Approver of each request. */
  plan: string[];
  /** Share of the requests that first fit serves. */
  base: number;
  searched: number;
}

interface World {
  readonly instance: Instance;
  readonly assigned: Map<string, string>;
}

/** By level: people with authority, requests. */
const SIZES = [
  [3, 3],
  [4, 5],
  [6, 8],
  [8, 12],
  [11, 18],
] as const;
const TEAMS = ["Sales", "Store", "Lab", "Office"];
const SYSTEMS = ["payroll", "mailing", "archive", "billing"];
const PAGE = 12;
/** Tries until a request has a possible approver. */
const MOST_DRAWS = 20;

const tools = {
  list_requests: worldTool<World, typeof pageStart>({
    description: `Open requests for access, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.requests, from, PAGE),
  }),
  list_people: worldTool<World, typeof pageStart>({
    description: `People, ${PAGE} at a time: name and team`,
    parameters: pageStart,
    run: ({ instance }, { from }) =>
      pageOf(
        instance.people.map(({ id, name: called, team }) => ({ id, name: called, team })),
        from,
        PAGE,
      ),
  }),
  get_people: worldTool({
    description: "All that is known of people: authority, free places, manager, absence",
    parameters: z.object({ people: recordNames }),
    run: ({ instance }: World, { people }) => people.map((id) => recordOf(instance.people, id, "person")),
  }),
  assign: worldTool({
    description: "Gives requests to an approver; a later call for a request replaces the earlier one",
    parameters: z.object({ requests: recordNames, approver: recordName }),
    run: ({ instance, assigned }: World, { requests, approver }) => {
      const { absent } = recordOf(instance.people, approver, "person");
      if (absent) throw new Refusal(`${approver} is absent`);
      for (const id of requests) recordOf(instance.requests, id, "request");
      for (const id of requests) assigned.set(id, approver);
      return { assigned: assigned.size };
    },
  }),
};

const RULES = [
  "a person never approves an own request",
  "the approver is of another team than the person who asks",
  "the approver is not the manager of that person, nor is that person the manager of the approver",
  "the authority of the approver is at least the risk of the request",
  "the approver is not absent",
  "an approver takes no more requests than the free places",
];

export const accessApprovals = defineWorldRow<Instance, World>({
  id: "access-approvals",
  asks: "give every request an approver under separation of duties, authority and limits, where first fit fails",
  make,
  effort: ({ searched }) => searched,
  canonical: ({ people, requests }) => [
    people.map(({ id }) => id).toSorted(),
    requests.map(({ id, risk }) => [id, risk]),
  ],
  prompts: [
    () =>
      `Every open request for access needs one approver. Conditions:\n${RULES.map((rule) => `- ${rule}`).join("\n")}\n\nAssign all of them. There is a way; taking the first person who fits each time does not always find it.`,
    () =>
      `Distribute the requests among those who may approve them:\n${RULES.map((rule, index) => `(${index + 1}) ${rule}`).join("\n")}\nAll requests can be served at once if the scarce approvers are kept for the requests that need them. An assignment that breaks a rule costs as much as a right one earns.`,
    () =>
      `The desk for access rights is behind. For each request name an approver such that ${RULES.join("; ")}. Some people fit many requests and others only one, so plan before you assign. Nothing may stay open.`,
    () =>
      `Assign approvers to requests. It is checked that\n${RULES.map((rule) => `* ${rule}`).join("\n")}\nand that no request is left over. Look at all people first: their data decide who may take what.`,
  ],
  tools,
  world: (instance) => ({ instance, assigned: new Map() }),
  gold: (instance) =>
    script(instance, new Map(instance.requests.map(({ id }, index) => [id, at(instance.plan, index)]))),
  slips: (instance) => {
    const gold = new Map(instance.requests.map(({ id }, index) => [id, at(instance.plan, index)]));
    const [first] = instance.requests;
    const others = [...gold].slice(1);
    const present = instance.people.filter(({ absent }) => !absent);
    const unfit = present.find((person) => first !== undefined && !mayApprove(person, first, instance.people));
    return {
      "first fit": script(instance, firstFit(instance)),
      "leaves a request open": script(instance, new Map(others)),
      "ignores the limits of approvers": script(
        instance,
        new Map(
          instance.requests.map((one) => [
            one.id,
            present.find((who) => mayApprove(who, one, instance.people))?.id ?? "",
          ]),
        ),
      ),
      "gives one to a person who may not": script(instance, new Map([[first?.id ?? "", unfit?.id ?? ""], ...others])),
    };
  },
  blankets: (instance) => ({
    "first fit": script(instance, firstFit(instance)),
    "all to the person of most authority": script(
      instance,
      new Map(
        instance.requests.map(({ id }) => [
          id,
          at(
            instance.people.filter(({ absent }) => !absent).toSorted((a, b) => b.authority - a.authority),
            0,
          ).id,
        ]),
      ),
    ),
  }),
  grade: (instance, { assigned }) => aboveBase(share(instance, assigned), instance.base),
});

function make(rng: Rng, level: Level): Instance | null {
  const [approvers, count] = at(SIZES, level - 1);
  const ids = namesOf("emp", approvers + Math.ceil(count / 2), rng);
  const people = ids.map((id, index): Person => ({
    id,
    name: name(rng),
    team: rng.pick(TEAMS),
    authority: index < approvers ? between(rng, 1, 5) : 0,
    capacity: 0,
    manager: index === 0 ? null : at(ids, rng.integer(index)),
    absent: rng.integer(8) === 0,
  }));
  // The limits of approvers are those of a hidden assignment.
  const requests = namesOf("req", count, rng).map((id): Request | null => {
    for (let draw = 0; draw < MOST_DRAWS; draw++) {
      const request = { id, person: rng.pick(ids), risk: between(rng, 1, 5), system: rng.pick(SYSTEMS) };
      const fitting = people.filter((one) => mayApprove(one, request, people));
      if (fitting.length === 0) continue;
      rng.pick(fitting).capacity += 1;
      return request;
    }
    return null;
  });
  if (!requests.every((one) => one !== null)) return null;
  const draft = { people: shuffled(people, rng), requests };
  const found = match(draft);
  if (found === null) return null;
  const base = share(draft, firstFit(draft));
  const instance = { ...draft, ...found, base };
  // First fit has to fail.
  return base === 1 ? null : instance;
}

type Draft = Pick<Instance, "people" | "requests">;

function mayApprove(person: Person, request: Request, people: readonly Person[]): boolean {
  const asker = recordOf(people, request.person, "person");
  return (
    person.id !== asker.id &&
    person.team !== asker.team &&
    asker.manager !== person.id &&
    person.manager !== asker.id &&
    person.authority >= request.risk &&
    !person.absent
  );
}

/** A complete assignment by augmenting paths (Kuhn); null without one. */
function match({ people, requests }: Draft): Pick<Instance, "plan" | "searched"> | null {
  const places = people.flatMap((person) => range(person.capacity).map(() => person));
  const taken: (number | null)[] = places.map(() => null);
  let searched = 0;
  const place = (request: number, tried: Set<number>): boolean => {
    for (const [index, person] of places.entries()) {
      if (tried.has(index) || !mayApprove(person, at(requests, request), people)) continue;
      tried.add(index);
      searched += 1;
      const before = taken[index] ?? null;
      if (before !== null && !place(before, tried)) continue;
      taken[index] = request;
      return true;
    }
    return false;
  };
  for (const request of requests.keys()) if (!place(request, new Set())) return null;
  return { plan: requests.map((_, request) => at(places, taken.indexOf(request)).id), searched };
}

/** The first person who fits and has a free place, request by request. */
function firstFit({ people, requests }: Draft): Map<string, string> {
  const left = new Map(people.map(({ id, capacity }) => [id, capacity]));
  const assigned = new Map<string, string>();
  for (const request of requests) {
    const found = people.find((one) => (left.get(one.id) ?? 0) > 0 && mayApprove(one, request, people));
    if (found === undefined) continue;
    left.set(found.id, (left.get(found.id) ?? 0) - 1);
    assigned.set(request.id, found.id);
  }
  return assigned;
}

/** Right assignments less wrong ones; of those beyond a limit all are wrong. */
function share({ people, requests }: Draft, assigned: ReadonlyMap<string, string>): number {
  const load = (id: string): number => [...assigned.values()].filter((one) => one === id).length;
  let sum = 0;
  for (const request of requests) {
    const approver = people.find(({ id }) => id === assigned.get(request.id));
    if (approver === undefined) continue;
    sum += mayApprove(approver, request, people) && load(approver.id) <= approver.capacity ? 1 : -1;
  }
  return Math.max(0, sum / requests.length);
}

function script({ people, requests }: Draft, assigned: ReadonlyMap<string, string>): Script {
  const ids = people.map(({ id }) => id);
  const approvers = [...new Set(assigned.values())].filter((id) => id !== "");
  const pages = (tool: string, count: number) =>
    range(Math.ceil(count / PAGE)).map((page) => call(tool, { from: page * PAGE }));
  return [
    ...pages("list_requests", requests.length),
    ...pages("list_people", people.length),
    ...batches(ids, 10).map((some) => call("get_people", { people: some })),
    ...approvers.map((approver) =>
      call("assign", { requests: [...assigned].filter(([, who]) => who === approver).map(([id]) => id), approver }),
    ),
  ];
}
