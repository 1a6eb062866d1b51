/** Draws APIs, records and goals. An instance is kept when a careful client reaches the goals and each neglect that it tempts to costs something. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level as Difficulty } from "../../row.ts";
import { namesOf } from "../records.ts";
import { neglectsOf, reached } from "./client.ts";
import { clearedBy, goalOf, graderOf } from "./goals.ts";
import {
  type Api,
  type ApiRecord,
  type Goal,
  hasQuirk,
  type Instance,
  type Kind,
  type Neglect,
  QUIRKS,
} from "./instance.ts";

/** Plural and singular, from the highest to the lowest. */
const MODELS = [
  ["theatres theatre", "halls hall", "seats seat"],
  ["libraries library", "shelves shelf", "volumes volume"],
  ["farms farm", "fields field", "plots plot"],
  ["harbours harbour", "piers pier", "berths berth"],
  ["museums museum", "rooms room", "exhibits exhibit"],
  ["schools school", "courses course", "places place"],
  ["depots depot", "lines line", "buses bus"],
  ["campuses campus", "labs lab", "devices device"],
  ["markets market", "aisles aisle", "stalls stall"],
  ["parks park", "loops loop", "pitches pitch"],
  ["studios studio", "albums album", "tracks track"],
  ["clinics clinic", "wards ward", "beds bed"],
  ["regions region", "clusters cluster", "disks disk"],
  ["breweries brewery", "cellars cellar", "casks cask"],
  ["archives archive", "boxes box", "letters letter"],
  ["shops shop", "racks rack", "bikes bike"],
] as const;
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  state: ["open", "closed", "reserved", "planned"],
  grade: ["plain", "good", "fine", "poor"],
  phase: ["early", "middle", "late", "final"],
  colour: ["red", "green", "amber", "blue"],
  use: ["private", "public", "shared", "idle"],
  age: ["new", "recent", "worn", "old"],
  status: ["active", "paused", "retired", "draft"],
  tier: ["basic", "medium", "premium", "trial"],
};
const AMOUNTS = ["price", "fee", "deposit", "charge", "rate", "rent", "quota", "limit"];

/** By level: highest, middle and lowest records, quirks, goals, records on a page. */
const SIZES = [
  [2, 3, 5, 1, 1, 5],
  [2, 4, 10, 2, 2, 4],
  [3, 5, 11, 4, 3, 5],
  [3, 6, 13, 5, 4, 5],
  [3, 7, 15, 7, 5, 5],
] as const;
/** Quirks that cost no requests. */
const FIRST_QUIRKS = ["versions", "replace", "cascade", "minor", "stale"] as const;
/** Requests that a client may need beyond those of the careful one. */
const SPARE = 1.7;
const MORE_REQUESTS = 8;
/** Calls of the longest gold script. */
const MOST_CALLS = 58;
const MOST_CHANGED = 0.5;
const NAMES = 6;

export function drawInstance(rng: Rng, level: Difficulty): Instance | null {
  const api = drawApi(rng, level);
  const records = drawRecords(rng, level, api);
  const goals = drawGoals(rng, level, { api, records });
  if (goals === null) return null;
  const draft: Instance = {
    api,
    records,
    goals,
    key: `key-${1000 + rng.integer(9000)}`,
    tokens: namesOf("token", NAMES, rng),
    jobs: namesOf("job", NAMES, rng),
    fresh: distinct(NAMES, () => String(1000 + rng.integer(9000))),
    budget: Number.MAX_SAFE_INTEGER,
    traps: [],
  };
  const graded = graderOf(draft);
  const gold = reached(draft);
  const isTooLong = gold.calls.length > MOST_CALLS;
  if (isTooLong || gold.calls.length < 3 || graded(gold.server.end()) < 1) return null;
  const instance = { ...draft, budget: Math.ceil(SPARE * gold.server.requests) + MORE_REQUESTS };
  const neglects = neglectsOf(instance);
  const traps: Neglect[] = [];
  for (const neglect of neglects) {
    if (graded(reached(instance, neglect).server.end()) < 1) traps.push(neglect);
    // Short lists may have one page.
    else if (neglect !== "pages") return null;
  }
  return { ...instance, traps };
}

function drawApi(rng: Rng, level: Difficulty): Api {
  const [, , , quirks, , pageSize] = at(SIZES, level - 1);
  const [first, second, third] = sample(Object.entries(CHOICES), 3, rng);
  const [top, middle, low] = rng.pick(MODELS);
  const kind = (nouns: string, [choice, options]: readonly [string, readonly string[]] = ["", []]): Kind => {
    const [plural = "", singular = ""] = nouns.split(" ");
    return { plural, singular, choice, options: sample(options, 3, rng) };
  };
  return {
    kinds: [kind(top, first), kind(middle, second), kind(low, third)],
    amount: rng.pick(AMOUNTS),
    quirks: sample(level === 1 ? FIRST_QUIRKS : QUIRKS, quirks, rng),
    paging: rng.integer(2) === 0 ? "page" : "cursor",
    pageSize,
    tokenLife: between(rng, 7, 12),
    lag: between(rng, 2, 4),
  };
}

function drawRecords(rng: Rng, level: Difficulty, api: Api): ApiRecord[] {
  const [tops, middles, lows] = at(SIZES, level - 1);
  const names = distinct(tops + middles + lows, () => name(rng));
  const counts = [tops, middles, lows] as const;
  const ids = counts.map((count, kind) => namesOf(at(api.kinds, kind).singular, count, rng));
  let named = 0;
  return counts.flatMap((count, kind) =>
    range(count).map((index): ApiRecord => {
      const { choice, options } = at(api.kinds, kind);
      const parents = kind === 0 ? [] : at(ids, kind - 1);
      const chosen = rng.pick(options);
      return {
        id: at(at(ids, kind), index),
        level: kind as 0 | 1 | 2,
        name: at(names, named++),
        // Every record above has one below before any has two, as far as there are enough.
        parent: kind === 0 ? null : at(parents, index < parents.length ? index : rng.integer(parents.length)),
        fields: kind === 2 ? { [choice]: chosen, [api.amount]: drawAmount(rng, api) } : { [choice]: chosen },
        locked: hasQuirk(api, "locks") && kind > 0 && rng.integer(3) === 0,
      };
    }),
  );
}

function drawAmount(rng: Rng, api: Api): number {
  return hasQuirk(api, "minor") ? 100 * between(rng, 2, 90) + between(rng, 1, 99) : between(rng, 20, 900);
}

/** One goal of each kind at most; null where one of them has nothing to change, or too much. */
function drawGoals(
  rng: Rng,
  level: Difficulty,
  { api, records }: Pick<Instance, "api" | "records">,
): readonly Goal[] | null {
  const [, , , , count] = at(SIZES, level - 1);
  const [top, middle, low] = api.kinds;
  const of = (kind: number): ApiRecord[] => records.filter((one) => one.level === kind);
  const fresh = distinct(2, () => name(rng)).filter((one) => records.every((other) => other.name !== one));
  const [newMiddle = "", newLow = ""] = fresh;
  if (fresh.length < 2) return null;
  const kinds = new Set(["set", ...sample(["clear", "found", "add", "mark"], count - 1, rng)]);
  if (count === 1 && rng.integer(2) === 0) {
    kinds.clear();
    kinds.add("clear");
  }
  const goals: Goal[] = [];
  const clearing = rng.pick(of(1));
  const clearedTop = records.find(({ id }) => id === clearing.parent);
  const clear = {
    goal: "clear" as const,
    top: clearedTop?.name ?? "",
    choice: String(clearing.fields[middle.choice]),
    heir: "",
  };
  const gone = new Set(kinds.has("clear") ? clearedBy({ api, records }, clear).map(({ id }) => id) : []);
  const stays = of(1).filter(({ id }) => !gone.has(id));
  if (stays.length === 0 || gone.size > 2) return null;
  if (kinds.has("found")) {
    const above = rng.pick(of(0)).name;
    // A new record that "clear" is about would make the sentence of that goal false.
    const options = middle.options.filter(
      (option) => !kinds.has("clear") || above !== clear.top || option !== clear.choice,
    );
    goals.push({ goal: "found", top: above, name: newMiddle, choice: rng.pick(options) });
  }
  if (kinds.has("mark")) {
    const one = rng.pick(of(0));
    const other = top.options.filter((option) => option !== one.fields[top.choice]);
    goals.push({ goal: "mark", top: one.name, choice: rng.pick(other) });
  }
  if (kinds.has("clear")) goals.push({ ...clear, heir: kinds.has("found") ? newMiddle : rng.pick(stays).name });
  if (kinds.has("set")) {
    const [choice, above] = [rng.pick(low.options), rng.pick(middle.options)];
    const meant = of(2).filter(
      (one) =>
        one.fields[low.choice] === choice &&
        records.find(({ id }) => id === one.parent)?.fields[middle.choice] === above,
    );
    if (meant.length === 0 || meant.length > MOST_CHANGED * of(2).length) return null;
    goals.push({ goal: "set", choice, above, amount: drawAmount(rng, api) });
  }
  if (kinds.has("add"))
    goals.push({
      goal: "add",
      middle: rng.pick(stays).name,
      name: newLow,
      choice: rng.pick(low.options),
      amount: drawAmount(rng, api),
    });
  const moved = of(2).filter(({ parent }) => gone.has(parent ?? ""));
  if (goalOf({ goals }, "clear") !== null && moved.length === 0) return null;
  return shuffled(goals, rng);
}
