/** policy-evaluation: which requests policies of users, groups and resources allow, where a denial wins and a boundary limits. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Statement {
  /** Where it is attached: a user, a group, a folder of resources, or the boundary of a user. */
  of: string;
  kind: "user" | "group" | "resource" | "boundary";
  allows: boolean;
  action: string;
  resource: string;
  /** Null: any address. */
  from: "inside" | null;
}
export interface PolicyProblem {
  groups: { name: string; members: string[] }[];
  statements: Statement[];
  requests: { user: string; action: string; resource: string; inside: boolean }[];
}

/** By level: statements, requests, whether there are boundaries. */
const SIZES = [
  [4, 4, false],
  [6, 5, false],
  [9, 7, true],
  [13, 9, true],
  [18, 12, true],
] as const;
const USERS = ["ann", "bob", "cy"];
const ACTIONS = ["read:list", "read:get", "write:put", "write:drop"];
const RESOURCES = ["/logs/a", "/logs/b", "/data/a", "/data/b/c", "/keys"];

export const policyEvaluation = itemRow<PolicyProblem>({
  id: "policy-evaluation",
  asks: "the statement that decides each request under allow and deny policies with patterns and boundaries",
  form: "list",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${policies(one)}\n\n${RULES}\n\nRequests:\n${requests(one)}\n\nFor each request write the number of the deciding statement, or none, in order with commas.`,
    (one) =>
      `${RULES}\n\nRequests to decide:\n${requests(one)}\n\nPolicies:\n${policies(one)}\n\nGive a comma-separated list: the number of the statement that decides each request, and none where no statement does.`,
    (one) =>
      `An auditor wants the reason for each decision.\n\n${requests(one)}\n\n${policies(one)}\n\n${RULES} List the deciding statement's number (or none) for every request in order; commas between.`,
    (one) =>
      `Access control.\n${policies(one)}\n\n${RULES} Who gets what, and why? For\n${requests(one)}\nanswer with the deciding numbers (none if there is none), comma-separated.`,
  ],
});

const RULES =
  "A statement applies if it is attached to the user, to a group of the user, or to the resource (then for all users), and its action, resource and address fit; * stands for any characters. If deny statements apply, the one with the lowest number decides. Otherwise, a user with boundary statements needs an applying boundary statement; without one nothing decides (none). Boundaries never allow by themselves. Then the applying allow statement with the lowest number decides, where those of resources come before all others. Without one the answer is none.";

function policies({ groups, statements }: PolicyProblem): string {
  const members = groups.map(({ name, members: all }) => `Group ${name}: ${all.join(", ")}.`);
  const lines = statements.map(({ of, kind, allows, action, resource, from }, index) => {
    const where = {
      user: `user ${of}`,
      group: `group ${of}`,
      resource: `resource ${of}`,
      boundary: `boundary of ${of}`,
    }[kind];
    const what = kind === "resource" ? action : `${action} on ${resource}`;
    return `${index + 1}. (${where}) ${allows ? "allow" : "deny"} ${what}${from === null ? "" : " from inside"}`;
  });
  return [...members, ...lines].join("\n");
}

function requests({ requests: all }: PolicyProblem): string {
  return all
    .map(
      ({ user, action, resource, inside }, index) =>
        `${String.fromCodePoint(97 + index)}) ${user}: ${action} on ${resource} from ${inside ? "inside" : "outside"}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, wanted, hasBoundaries] = at(SIZES, level - 1);
  const groups = ["dev", "ops"]
    .map((name) => ({ name, members: USERS.filter(() => rng.integer(2) === 0) }))
    .filter(({ members }) => members.length > 0);
  const pattern = (texts: readonly string[]): string => {
    const text = rng.pick(texts);
    switch (rng.integer(4)) {
      case 0:
        return "*";
      case 1:
        return text.replace(/[:/][^:/]*$/u, (rest) => `${rest.charAt(0)}*`);
      case 2:
        return text.replace(/^[^:]*:/u, "*:");
      default:
        return text;
    }
  };
  const statements = range(count).map((): Statement => {
    const kind = rng.pick(["user", "group", "group", "resource", hasBoundaries ? "boundary" : "user"] as const);
    const resource = kind === "resource" ? rng.pick(RESOURCES) : pattern(RESOURCES);
    const of =
      kind === "resource"
        ? resource
        : kind === "group"
          ? groups.length === 0
            ? "dev"
            : rng.pick(groups).name
          : rng.pick(USERS);
    return {
      of,
      kind,
      allows: kind === "boundary" || rng.integer(3) > 0,
      action: pattern(ACTIONS),
      resource,
      from: rng.integer(4) === 0 ? "inside" : null,
    };
  });
  const all = range(wanted).map(() => ({
    user: rng.pick(USERS),
    action: rng.pick(ACTIONS),
    resource: rng.pick(RESOURCES),
    inside: rng.integer(2) === 0,
  }));
  const problem = { groups, statements, requests: all };
  const items = all.map((request) => decide(problem, request, "right"));
  const nones = items.filter((item) => item === "none").length;
  const denied = items.filter((item) => item !== "none" && statements[Number(item) - 1]?.allows === false).length;
  if (
    groups.length < 2 ||
    nones > wanted / 2 ||
    denied < 1 ||
    nones + denied === wanted ||
    new Set(items).size < Math.min(3, wanted)
  )
    return null;
  const misses = (["first", "boundless", "allow"] as const).map((slip) =>
    all.map((request) => decide(problem, request, slip)),
  );
  if (misses[0]?.join() === items.join()) return null;
  return { problem, items, misses, effort: count * wanted + groups.length };
}

/** Slips: the first statement that applies decides, boundaries are overlooked, or an allow wins. */
function decide(
  { groups, statements }: PolicyProblem,
  request: PolicyProblem["requests"][number],
  how: "right" | "first" | "boundless" | "allow",
): string {
  const { user, action, resource, inside } = request;
  const fits = (glob: string, text: string): boolean => new RegExp(`^${glob.replaceAll("*", ".*")}$`, "u").test(text);
  const applying = statements
    .map((one, index) => ({ ...one, number: index + 1 }))
    .filter((one) => {
      const isOwn =
        one.kind === "resource"
          ? one.of === resource
          : one.kind === "group"
            ? groups.some(({ name, members }) => name === one.of && members.includes(user))
            : one.of === user;
      return isOwn && fits(one.action, action) && fits(one.resource, resource) && (one.from === null || inside);
    });
  const granting = applying.filter(({ kind }) => kind !== "boundary");
  if (how === "first") return String(granting[0]?.number ?? "none");
  const denial = granting.find(({ allows }) => !allows);
  if (denial !== undefined && how !== "allow") return String(denial.number);
  const isBound = statements.some((one) => one.kind === "boundary" && one.of === user);
  if (isBound && how !== "boundless" && !applying.some(({ kind }) => kind === "boundary")) return "none";
  const allowing = granting.filter(({ allows }) => allows);
  return String((allowing.find(({ kind }) => kind === "resource") ?? allowing[0] ?? denial)?.number ?? "none");
}
