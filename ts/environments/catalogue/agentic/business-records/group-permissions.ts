/** group-permissions: people get exactly the access they need through nested groups, with few direct memberships. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, batches, call, namesOf, pageOf, pageStart, recordName, recordNames, recordOf } from "../records.ts";

interface Group {
  id: string;
  /** Resources to which the group itself is admitted, and groups in which it is contained. */
  grants: string[];
  inside: string[];
}

interface Person {
  id: string;
  needs: string[];
  /** Direct memberships before and in the solution. */
  before: string[];
  after: string[];
}

interface Instance {
  groups: Group[];
  people: Person[];
  resources: string[];
  tried: number;
}

interface World {
  readonly instance: Instance;
  readonly member: Map<string, Set<string>>;
}

/** By level: groups, resources, people. */
const SIZES = [
  [5, 4, 3],
  [7, 5, 4],
  [9, 7, 6],
  [12, 9, 9],
  [16, 12, 14],
] as const;
const PAGE = 8;
/** Direct memberships of a person. */
const MOST = 2;

const membership = z.object({ person: recordName, group: recordName });

const tools = {
  list_people: worldTool<World, typeof pageStart>({
    description: `People with their direct memberships, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance, member }, { from }) =>
      pageOf(
        instance.people.map(({ id }) => ({ id, groups: [...(member.get(id) ?? [])] })),
        from,
        PAGE,
      ),
  }),
  get_groups: worldTool({
    description: "What groups grant themselves, and in which groups they are contained",
    parameters: z.object({ groups: recordNames }),
    run: ({ instance }: World, { groups }) =>
      groups
        .map((id) => recordOf(instance.groups, id, "group"))
        .map(({ id, grants, inside }) => ({ id, grants, member_of: inside })),
  }),
  list_groups: worldTool<World, typeof pageStart>({
    description: `Names of groups, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) =>
      pageOf(
        instance.groups.map(({ id }) => id),
        from,
        PAGE,
      ),
  }),
  add_member: worldTool<World, typeof membership>({
    description: "Makes a person a direct member of a group",
    parameters: membership,
    run: (world, { person, group }) => {
      const own = groupsOf(world, person, group);
      if (own.has(group)) throw new Refusal(`${person} is a member of ${group} already`);
      own.add(group);
      return [...own];
    },
  }),
  remove_member: worldTool<World, typeof membership>({
    description: "Ends a direct membership",
    parameters: membership,
    run: (world, { person, group }) => {
      const own = groupsOf(world, person, group);
      if (!own.delete(group)) throw new Refusal(`${person} is no direct member of ${group}`);
      return [...own];
    },
  }),
};

export const groupPermissions = defineWorldRow<Instance, World>({
  id: "group-permissions",
  asks: "give people exactly the access they need through nested groups, with two direct memberships at most",
  make,
  effort: ({ tried }) => tried,
  canonical: ({ groups, people }) => [
    groups.map(({ grants, inside }) => [grants.length, inside.length]),
    people.map(({ needs }) => needs),
  ],
  prompts: [
    (one) =>
      `Arrange memberships so that everybody can use exactly these resources, no fewer and no more:\n${needList(one)}\nA member of a group gets the grants of the group and of those in which it is contained, and so on upwards. No person may be a direct member of more than ${MOST} groups. Groups themselves cannot be changed.`,
    (one) =>
      `Least privilege: after your work the access of each person must be equal to this list.\n${needList(one)}\nAccess comes from direct memberships and is inherited along "member_of" from group to group. At most ${MOST} direct memberships per person. People whose access is already right must keep it.`,
    (one) =>
      `An audit found wrong rights. Required, person by person:\n${needList(one)}\nThe only means are adding and removing direct memberships (${MOST} per person at most); groups are nested, and rights flow from a containing group down to the members of those inside it. Too much is as wrong as too little.`,
    (one) =>
      `Target of the access review:\n${needList(one)}\nCheck how groups contain each other: members of a group are, in effect, in every group in which this one is contained. Fix the direct memberships, never more than ${MOST} for one person, so that the effective access matches exactly.`,
  ],
  tools,
  world: (instance) => ({ instance, member: new Map(instance.people.map(({ id, before }) => [id, new Set(before)])) }),
  gold: (instance) =>
    script(
      instance,
      instance.people.flatMap((one) => changes(one, one.after)),
    ),
  slips: (instance, rng) => {
    const all = instance.people.flatMap((one) => changes(one, one.after));
    return {
      "stops before the last change": script(instance, all.slice(0, -1)),
      "only adds": script(
        instance,
        all.filter(({ tool }) => tool === "add_member"),
      ),
      "one group more": script(instance, [...all, ...extra(instance, rng)]),
      "only removes": script(
        instance,
        all.filter(({ tool }) => tool === "remove_member"),
      ),
    };
  },
  blankets: (instance) => ({
    "takes everything away": script(
      instance,
      instance.people.flatMap((one) => changes(one, [])),
    ),
    "the first group for all": script(
      instance,
      instance.people.flatMap((one) => changes(one, [at(instance.groups, 0).id])),
    ),
    "the first two groups for all": script(
      instance,
      instance.people.flatMap((one) =>
        changes(
          one,
          instance.groups.slice(0, 2).map(({ id }) => id),
        ),
      ),
    ),
  }),
  grade: (instance, { member }) => {
    const isRight = (one: Person, own: readonly string[]): boolean =>
      own.length <= MOST && reached(instance.groups, own).join() === one.needs.join();
    const right = instance.people.filter((one) => isRight(one, [...(member.get(one.id) ?? [])])).length;
    const untouched = instance.people.filter((one) => isRight(one, one.before)).length;
    return aboveBase(right / instance.people.length, untouched / instance.people.length) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [groupCount, resourceCount, count] = at(SIZES, level - 1);
  const ids = namesOf("group", groupCount, rng);
  const resources = namesOf("res", resourceCount, rng).toSorted();
  const groups = ids.map((id, index): Group => ({
    id,
    grants: sample(resources, between(rng, 1, 2), rng),
    inside: index > 0 && rng.integer(3) > 0 ? [at(ids, rng.integer(index))] : [],
  }));
  const single = new Set(ids.map((id) => reached(groups, [id]).join()));
  const pairs = ids.flatMap((a, index) => ids.slice(0, index).map((b) => [b, a]));
  // Needs that one group meets are no puzzle.
  const useful = pairs.filter((pair) => !single.has(reached(groups, pair).join()));
  if (useful.length < 4) return null;
  const names = namesOf("person", count, rng);
  const people = names.map((id, index): Person => {
    const after = rng.pick(useful);
    const isFine = index > 1 && index < count - 1 && rng.integer(4) === 0;
    const others = ids.filter((group) => !after.includes(group));
    return {
      id,
      needs: reached(groups, after),
      before: isFine ? after : sample(others, between(rng, 1, MOST), rng),
      after,
    };
  });
  const wrong = people.filter(({ before, needs }) => reached(groups, before).join() !== needs.join());
  if (wrong.length < 2 || new Set(people.map(({ needs }) => needs.join())).size < people.length - 1) return null;
  // Those who are right keep what they have.
  for (const one of people) if (!wrong.includes(one)) one.after = one.before;
  if (!wrong.includes(at(people, people.length - 1))) return null;
  return { groups, people, resources, tried: wrong.length * (ids.length + pairs.length) };
}

/** Resources that follow from direct memberships, in the order of the alphabet. */
function reached(groups: readonly Group[], own: readonly string[]): string[] {
  const all = new Set(own);
  for (const id of all) for (const outer of groups.find((one) => one.id === id)?.inside ?? []) all.add(outer);
  return [...new Set(groups.filter(({ id }) => all.has(id)).flatMap(({ grants }) => grants))].toSorted();
}

/** Throws Refusal for an unknown person or group. */
function groupsOf({ instance, member }: World, person: string, group: string): Set<string> {
  recordOf(instance.groups, group, "group");
  const own = member.get(person);
  if (own === undefined) throw new Refusal(`there is no person ${person}`);
  return own;
}

/** Removals first. */
function changes({ id, before }: Person, after: readonly string[]): Call[] {
  return [
    ...before.filter((group) => !after.includes(group)).map((group) => call("remove_member", { person: id, group })),
    ...after.filter((group) => !before.includes(group)).map((group) => call("add_member", { person: id, group })),
  ];
}

/** A membership that gives somebody too much. */
function extra({ groups, people }: Instance, rng: Rng): Call[] {
  const one = rng.pick(people);
  const group = groups.find(
    ({ id, grants }) => !one.after.includes(id) && grants.some((grant) => !one.needs.includes(grant)),
  );
  return group === undefined
    ? [call("remove_member", { person: one.id, group: at(one.after, 0) })]
    : [call("add_member", { person: one.id, group: group.id })];
}

function script({ groups, people }: Instance, all: readonly Call[]): Script {
  return [
    ...range(Math.ceil(people.length / PAGE)).map((page) => call("list_people", { from: page * PAGE })),
    ...range(Math.ceil(groups.length / PAGE)).map((page) => call("list_groups", { from: page * PAGE })),
    ...batches(
      groups.map(({ id }) => id),
      PAGE,
    ).map((some) => call("get_groups", { groups: some })),
    ...all,
  ];
}

function needList({ people }: Instance): string {
  return people.map(({ id, needs: own }) => `- ${id}: ${own.join(", ")}`).join("\n");
}
