/** zone-answers: what a name server answers from a zone with aliases, wildcards, empty names and delegations. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Entry {
  name: string;
  type: "A" | "CNAME" | "NS" | "MX";
  value: string;
}
export interface ZoneProblem {
  zone: string;
  entries: Entry[];
  queries: { name: string; type: "A" | "MX" }[];
}

/** By level: entries, queries. */
const SIZES = [
  [6, 4],
  [9, 5],
  [12, 6],
  [16, 8],
  [21, 10],
] as const;
const LABELS = ["a", "b", "www", "mail", "api", "dev", "old", "x"];
const LONGEST_CHAIN = 6;

export const zoneAnswers = itemRow<ZoneProblem>({
  id: "zone-answers",
  asks: "the answers of a name server for a zone with aliases, wildcards, empty names and delegations",
  form: "list",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `Zone ${one.zone}:\n${text(one)}\n\n${RULES}\n\nQueries: ${queries(one)}. Give the outcome of each in order: the value of the final record, or REFERRAL, NODATA or NXDOMAIN. Separate by commas.`,
    (one) =>
      `You are the only server of ${one.zone}. ${RULES}\n\nRecords:\n${text(one)}\n\nAnswer ${queries(one)}: a list with commas, for each query either the value that is found at the end of the aliases, or one of the words REFERRAL, NODATA, NXDOMAIN.`,
    (one) =>
      `Queries come in: ${queries(one)}.\n\nThe authoritative data are\n${text(one)}\n\n${RULES} Write per query, in this order and comma-separated, the value of the record of the wanted type, or REFERRAL / NODATA / NXDOMAIN.`,
    (one) =>
      `${text(one)}\n\nThis is the whole zone ${one.zone}. How does its server respond to ${queries(one)}? Follow aliases to the end. ${RULES} Outcomes (value, REFERRAL, NODATA or NXDOMAIN) in order, with commas.`,
  ],
});

const RULES =
  "A name exists if a record has it or a name below it. A query at or below a name with an NS record is a REFERRAL. A CNAME leads to its target, which is looked up in the same way. Where the name exists without a record of the wanted type (and without an alias), the answer is NODATA. Where it does not exist, take its longest existing ancestor: if *.ancestor has records, they answer as if they had the asked name; if not, the answer is NXDOMAIN.";

function text({ entries }: ZoneProblem): string {
  return entries.map(({ name, type, value }) => `${name} ${type} ${value}`).join("\n");
}

function queries({ queries: all }: ZoneProblem): string {
  return all.map(({ name, type }) => `${name} ${type}`).join(", ");
}

function make(rng: Rng, level: Level) {
  const [count, wanted] = at(SIZES, level - 1);
  const zone = `${rng.pick(["oak", "elm", "fir", "ash"])}.test`;
  const name = (): string => {
    const depth = rng.pick([1, 1, 2, 2, 3]);
    return [...sample(LABELS, depth, rng), zone].join(".");
  };
  const names = [...new Set(range(count).map((index) => (index % 4 === 0 ? `*.${name()}` : name())))];
  names[0] = `*.${zone}`;
  let host = 0;
  const address = (): string => `10.0.${rng.integer(256)}.${(host += 1)}`;
  const entries = names.flatMap((called, index): Entry[] => {
    const kind = rng.integer(8);
    if (index > 0 && kind < 3) {
      const target = rng.integer(4) === 0 ? name() : rng.pick(names).replace("*", rng.pick(LABELS));
      return [{ name: called, type: "CNAME", value: target }];
    }
    if (kind === 3 && !called.startsWith("*")) return [{ name: called, type: "NS", value: "ns.other.example" }];
    if (kind === 4) return [{ name: called, type: "MX", value: `mx${(host += 1)}.example` }];
    return [{ name: called, type: "A", value: address() }];
  });
  const asked = range(wanted * 3).map(() => {
    const base = rng.pick(names).replace("*.", rng.integer(2) === 0 ? `${rng.pick(LABELS)}.` : "");
    const full = rng.integer(3) === 0 ? `${rng.pick(LABELS)}.${base}` : base;
    return { name: full, type: rng.integer(4) === 0 ? ("MX" as const) : ("A" as const) };
  });
  const unique = asked.filter(
    (one, index) =>
      one.name !== zone && asked.findIndex((other) => other.name === one.name && other.type === one.type) === index,
  );
  const problem = { zone, entries: shuffled(entries, rng), queries: unique.slice(0, wanted) };
  const found = problem.queries.map((query) => answer(problem, query.name, query.type));
  const items = found.map((one) => one.text);
  const words = new Set(items.map((item) => (/^[A-Z]+$/u.test(item) ? item : "value")));
  if (unique.length < wanted || items.includes("") || words.size < Math.min(3, level + 1)) return null;
  const plain = problem.queries.map(
    (query) => entries.find((entry) => entry.name === query.name && entry.type === query.type)?.value ?? "NXDOMAIN",
  );
  if (plain.join() === items.join()) return null;
  const misses = [
    plain,
    items.map((item) => (item === "NODATA" ? "NXDOMAIN" : item)),
    items.map((item) => (item === "REFERRAL" ? "NODATA" : item)),
  ];
  return { problem, items, misses, effort: found.reduce((sum, one) => sum + one.steps, 0) * 2 + count };
}

/** The text is empty where aliases never end. */
function answer({ zone, entries }: ZoneProblem, asked: string, type: string): { text: string; steps: number } {
  let name = asked;
  let steps = 0;
  while (steps < LONGEST_CHAIN) {
    steps += 1;
    const ancestors = upwards(name, zone);
    const isCut = ancestors.some((one) => entries.some((entry) => entry.name === one && entry.type === "NS"));
    if (isCut) return { text: "REFERRAL", steps };
    const exists = (one: string): boolean =>
      entries.some((entry) => entry.name === one || entry.name.endsWith(`.${one}`));
    const owner = exists(name) ? name : `*.${ancestors.find(exists) ?? zone}`;
    const here = entries.filter((entry) => entry.name === owner);
    if (owner !== name && here.length === 0) return { text: "NXDOMAIN", steps };
    const match = here.find((entry) => entry.type === type);
    if (match !== undefined) return { text: match.value, steps };
    const alias = here.find((entry) => entry.type === "CNAME");
    if (alias === undefined) return { text: "NODATA", steps };
    name = alias.value;
  }
  return { text: "", steps };
}

/** The name and its ancestors within the zone. */
function upwards(name: string, zone: string): string[] {
  const labels = name.split(".");
  return range(labels.length - zone.split(".").length).map((index) => labels.slice(index).join("."));
}
