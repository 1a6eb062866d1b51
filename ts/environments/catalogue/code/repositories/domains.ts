/** Words and constants of a project. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { literal, type Json } from "../json.ts";

export interface Domain {
  readonly pkg: string;
  readonly item: string;
  readonly person: string;
  readonly people: string;
  /** Words of names of items. */
  readonly words: readonly string[];
  readonly tiers: readonly string[];
}

export const ENTRY_KINDS = ["api", "cli", "queue"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

const domain = (
  [pkg, item, person, people = `${person}s`]: readonly [string, string, string, string?],
  words: string,
  tiers: string,
): Domain => ({
  pkg,
  item,
  person,
  people,
  words: words.split(" "),
  tiers: tiers.split(" "),
});

export const DOMAINS: readonly Domain[] = [
  domain(
    ["toolshed", "tool", "member"],
    "drill saw ladder sander jack vise plane clamp grinder pump",
    "basic plus pro",
  ),
  domain(
    ["bookroom", "book", "reader"],
    "atlas novel primer lexicon diary ballad saga guide manual poem",
    "guest house staff",
  ),
  domain(
    ["cyclehub", "bike", "rider"],
    "tandem racer cargo folding trail cruiser city gravel trike kids",
    "day month year",
  ),
  domain(
    ["wardrobe", "costume", "actor"],
    "pirate knight queen clown wizard miller sailor ghost baker judge",
    "school amateur stage",
  ),
  domain(
    ["camerapool", "camera", "student"],
    "reflex pocket studio field macro cinema plate box sport drone",
    "first second final",
  ),
  domain(
    ["gamecafe", "game", "guest"],
    "harbour castle market river dragon train farm island temple moon",
    "walkin friend patron",
  ),
  domain(
    ["boatclub", "boat", "sailor"],
    "dinghy canoe kayak sloop skiff punt gig yawl ketch raft",
    "junior crew skipper",
  ),
  domain(
    ["bandroom", "instrument", "pupil"],
    "flute horn cello oboe tuba harp viola drum lute fiddle",
    "beginner band orchestra",
  ),
];

export type Settings = Readonly<Record<string, Json>>;

/** Constants whose edges random streams of requests meet. */
export function drawSettings(rng: Rng, { tiers }: Domain): Settings {
  const rate = 5 * between(rng, 5, 12);
  const limits = sample([1, 2, 3], 3, rng).sort((a, b) => a - b);
  return {
    LIMITS: Object.fromEntries(tiers.map((tier, index) => [tier, at(limits, index)])),
    LOAN_DAYS: between(rng, 5, 9),
    CHEAP_VALUE: 50 * between(rng, 8, 14),
    CHEAP_DAYS: between(rng, 2, 4),
    EXTRA_DAYS: between(rng, 1, 3),
    LOYAL_AFTER: between(rng, 1, 2),
    MOST_DEBT: rate * between(rng, 2, 4),
    LOYAL_DEBT: rate * between(rng, 6, 8),
    GRACE_DAYS: between(rng, 1, 2),
    LEAST_RATE: rate,
    RATE_PERCENT: between(rng, 3, 6),
    MOST_PERCENT: between(rng, 25, 45),
    CLOSED_WEEKDAYS: sample([0, 1, 2, 3, 4, 5, 6], 2, rng).sort((a, b) => a - b),
    WEEKDAY_OF_ZERO: between(rng, 1, 6),
    LEAST_VALUE: 10 * between(rng, 20, 30),
    JOURNAL_LINES: between(rng, 4, 6),
    DAMAGE_PERCENTS: { scratch: between(rng, 5, 9), dent: between(rng, 20, 30), broken: between(rng, 50, 70) },
    WORN_PERCENT: between(rng, 55, 90),
    RENEWALS: between(rng, 1, 2),
    BLOCK_TIMES: between(rng, 2, 3),
    REMIND_AFTER: between(rng, 2, 3),
    REMIND_EVERY: between(rng, 2, 3),
    PAGE: between(rng, 2, 3),
    REPORT_NAMES: between(rng, 2, 3),
  };
}

/** The constants of each optional part; the others are everybody's. */
export const OF_FEATURE: Readonly<Record<string, string>> = {
  DAMAGE_PERCENTS: "damage",
  WORN_PERCENT: "damage",
  RENEWALS: "renew",
  BLOCK_TIMES: "nightly",
  REMIND_AFTER: "nightly",
  REMIND_EVERY: "nightly",
  PAGE: "search",
  REPORT_NAMES: "report",
};

export function settingsText(settings: Settings, features: readonly string[]): string {
  const lines = Object.entries(settings).flatMap(([name, value]) => {
    const feature = OF_FEATURE[name];
    return feature === undefined || features.includes(feature) ? [`${name} = ${literal(value, "python")}`] : [];
  });
  return `"""Constants of the rules."""\n${lines.join("\n")}\n`;
}
