/** claim-grading: claims of two parts against notes: supported, refuted, partly right, or not decided by the notes. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus, numbered, sentence } from "../documents.ts";
import { balanced, fieldRow, type Solution } from "../../field-row.ts";

/** Notes about a village; null is what they do not say. */
interface Village {
  name: string;
  people: number | null;
  /** Metres above the sea. */
  height: number | null;
  /** Place in `districts`. */
  district: number | null;
}

/** `a` and `b` are villages; `value` a number or a region. */
type Part =
  | { kind: "more" | "higher"; a: number; b: number }
  | { kind: "people" | "above"; a: number; value: number }
  | { kind: "region"; a: number; value: number }
  | { kind: "together"; a: number; b: number; value: number };

interface Given {
  villages: Village[];
  /** `regionOf[d]`: region of a district. */
  districts: string[];
  regions: string[];
  regionOf: number[];
  claims: [Part, Part][];
  order: number[];
}

/** By level: villages, districts, regions, claims. */
const SIZES = [
  [5, 3, 2, 8],
  [7, 4, 2, 8],
  [10, 6, 3, 10],
  [14, 8, 4, 12],
  [20, 10, 5, 14],
] as const;
const VERDICTS = ["supported", "refuted", "partly", "undecided"] as const;
type Verdict = (typeof VERDICTS)[number];

export const claimGrading = fieldRow<Given>({
  id: "claim-grading",
  asks: "whether notes support, refute, partly support or do not decide each of several claims of two parts",
  draw,
  solve,
  isShared: true,
  values: () => `each value is one of ${VERDICTS.join(", ")}`,
  wordings: [
    (one, rng) => `${notes(one, rng)}\n\n${SCALE}\n\n${claims(one, rng)}`,
    (one, rng) =>
      `Grade each claim by the notes alone. ${SCALE}\n\nClaims:\n${claims(one, rng)}\n\nNotes:\n${notes(one, rng)}`,
    (one, rng) => `A surveyor's papers:\n${notes(one, rng)}\n\nA guide book asserts:\n${claims(one, rng)}\n\n${SCALE}`,
    (one, rng) =>
      `${SCALE} The claims:\n${claims(one, rng)}\nThe only evidence:\n${notes(one, rng)}\nWhat is the standing of each claim?`,
  ],
});

const SCALE =
  "Each claim has two parts. It is supported when both parts follow from the evidence, refuted when both are contradicted by it, partly when one follows and the other is contradicted, and undecided when the evidence leaves a part open. Two different districts have no common place, and so have two different regions.";

function draw(rng: Rng, level: Level): Given | null {
  const [villageCount, districtCount, regionCount, claimCount] = at(SIZES, level - 1);
  const names = distinct(villageCount + districtCount + regionCount, () => name(rng));
  const villages = names.slice(0, villageCount).map((village): Village => ({
    name: village,
    people: rng.integer(6) === 0 ? null : 10 * between(rng, 12, 300),
    height: rng.integer(4) === 0 ? null : 5 * between(rng, 10, 300),
    district: rng.integer(5) === 0 ? null : rng.integer(districtCount),
  }));
  const base: Given = {
    villages,
    districts: names.slice(villageCount, villageCount + districtCount),
    regions: names.slice(villageCount + districtCount),
    regionOf: range(districtCount).map((district) => district % regionCount),
    claims: [],
    order: shuffled(range(villageCount), rng),
  };
  const part = (): Part => {
    const [a = 0, b = 0] = sample(range(villageCount), 2, rng);
    const people = (village: number): number => at(villages, village).people ?? 1000;
    const kind = rng.pick(["more", "higher", "people", "above", "region", "region", "together"] as const);
    const change = rng.pick([-300, -40, 40, 300]);
    if (kind === "more" || kind === "higher") return { kind, a, b };
    if (kind === "region")
      return {
        kind,
        a,
        value: rng.integer(3) > 0 ? rng.integer(regionCount) : at(base.regionOf, at(villages, a).district ?? 0),
      };
    if (kind === "together") return { kind, a, b, value: people(a) + people(b) + change };
    return { kind, a, value: kind === "people" ? people(a) + change : (at(villages, a).height ?? 700) + change };
  };
  for (const verdict of balanced(VERDICTS, claimCount, rng)) {
    const found = range(200)
      .map((): [Part, Part] => [part(), part()])
      .find(([a, b]) => verdictOf(base, [a, b]) === verdict && a.kind !== b.kind);
    if (found === undefined) return null;
    base.claims.push(found);
  }
  return base;
}

function solve(one: Given): Solution | null {
  const { claims: all, villages } = one;
  const verdicts = all.map((claim) => verdictOf(one, claim));
  const firstOnly = all.map(
    ([a]) => ({ true: "supported", false: "refuted", null: "undecided" })[String(holds(one, a))] ?? "",
  );
  // Without inference over districts or two villages nothing of that kind is known.
  const literal = all.map((claim): Verdict =>
    claim.some(({ kind }) => kind === "region" || kind === "together") ? "undecided" : verdictOf(one, claim),
  );
  const eager = verdicts.map((verdict) => (verdict === "undecided" ? "refuted" : verdict));
  return {
    fields: verdicts.map((value, index) => ({ name: `C${index + 1}`, kind: "word", value, options: VERDICTS })),
    slips: [firstOnly, literal, eager],
    steps: villages.length * 2 + 4 * all.length,
  };
}

function verdictOf(one: Given, [a, b]: [Part, Part]): Verdict {
  const found = [holds(one, a), holds(one, b)];
  if (found.includes(null)) return "undecided";
  if (found[0] === found[1]) return found[0] === true ? "supported" : "refuted";
  return "partly";
}

/** Null where the notes do not decide. */
function holds({ villages, regionOf }: Given, part: Part): boolean | null {
  const { people, height, district } = at(villages, part.a);
  switch (part.kind) {
    case "people":
      return people === null ? null : people > part.value;
    case "above":
      return height === null ? null : height > part.value;
    case "region":
      return district === null ? null : at(regionOf, district) === part.value;
    case "more": {
      const other = at(villages, part.b).people;
      return people === null || other === null ? null : people > other;
    }
    case "higher": {
      const other = at(villages, part.b).height;
      return height === null || other === null ? null : height > other;
    }
    case "together": {
      const other = at(villages, part.b).people;
      return people === null || other === null ? null : people + other > part.value;
    }
  }
}

function claims({ villages, regions, claims: all }: Given, rng: Rng): string {
  const text = (part: Part): string => {
    const a = at(villages, part.a).name;
    switch (part.kind) {
      case "people":
        return rng.pick([`${a} has more than ${part.value} inhabitants`, `over ${part.value} people live in ${a}`]);
      case "above":
        return rng.pick([
          `${a} lies more than ${part.value} metres above the sea`,
          `one climbs above ${part.value} metres to reach ${a}`,
        ]);
      case "region":
        return rng.pick([
          `${a} belongs to the region ${at(regions, part.value)}`,
          `in the region ${at(regions, part.value)} lies ${a}`,
        ]);
      case "more":
        return rng.pick([
          `${a} has more inhabitants than ${at(villages, part.b).name}`,
          `fewer people live in ${at(villages, part.b).name} than in ${a}`,
        ]);
      case "higher":
        return rng.pick([
          `${a} lies higher than ${at(villages, part.b).name}`,
          `${at(villages, part.b).name} lies lower than ${a}`,
        ]);
      case "together":
        return `${a} and ${at(villages, part.b).name} have more than ${part.value} inhabitants together`;
    }
  };
  return numbered(
    all.map(([a, b]) => sentence(`${text(a)}, and ${text(b)}`)),
    "C",
  );
}

function notes({ villages, districts, regions, regionOf, order }: Given, rng: Rng): string {
  const about = order.map((index) => {
    const { name: village, people, height, district } = at(villages, index);
    const facts = [
      ...(people === null
        ? []
        : [rng.pick([`${village} counts ${people} inhabitants`, `the census found ${people} people in ${village}`])]),
      ...(height === null
        ? []
        : [
            rng.pick([
              `${village} lies ${height} metres above the sea`,
              `the church of ${village} stands at ${height} metres`,
            ]),
          ]),
      ...(district === null
        ? []
        : [
            rng.pick([
              `${village} is a village of the district ${at(districts, district)}`,
              `to the district ${at(districts, district)} belongs ${village}`,
            ]),
          ]),
    ];
    return facts.length === 0 ? sentence(`${village} was not visited`) : shuffled(facts, rng).map(sentence).join(" ");
  });
  const areas = districts.map((district, index) =>
    sentence(
      rng.pick([
        `the district ${district} is a part of the region ${at(regions, at(regionOf, index))}`,
        `the region ${at(regions, at(regionOf, index))} includes the district ${district}`,
      ]),
    ),
  );
  return corpus([...about, ...areas], rng);
}
