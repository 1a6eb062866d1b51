/** Depots: objects that hold a stock. What a call returns depends on the calls before it, so many mutants show only in long sequences. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Json, literal } from "../json.ts";
import { type Input, type Mutant, type Style, type SubjectKind } from "./subject.ts";

export interface Depot {
  readonly is: "depot";
  readonly name: string;
  readonly capacity: number;
  readonly start: number;
  /** A put above the capacity fills the depot; else it is refused as a whole. */
  readonly fills: boolean;
  /** A take of more than there is gets what there is; else it is refused. */
  readonly partly: boolean;
  /** Refused takes in a row after which takes are locked; null: never. */
  readonly locksAfter: number | null;
  /** A take that succeeds ends the row of refused ones. */
  readonly clears: boolean;
  /** Each take of at least this many costs one more, if it is there; null: none. */
  readonly feeFrom: number | null;
  /** A tick adds this many, up to the capacity. */
  readonly refill: number;
  /** Every so many ticks the stock loses a third, rounded down, after the refill; null: never. */
  readonly spoilsEvery: number | null;
  /** Units that only a put of the same tick may bring above the capacity; null: none. */
  readonly reserve: number | null;
  /** Of mutants only. */
  readonly flaw?: Flaw;
}

type Flaw =
  | "put-clears"
  | "tick-clears"
  | "refused-costs"
  | "spoils-first"
  | "full-put-refused"
  | "last-take-refused"
  | "locked-tick-idles"
  | "full-tick-uncounted";

const NAMES = ["Depot", "Tank", "Pantry", "Battery", "Granary", "Cistern"];
const EXTRAS = ["locks", "fee", "spoils", "reserve"] as const;
/** Additional rules by level. */
const COUNTS = [1, 1, 2, 3, 4] as const;

export const depot: SubjectKind<Depot> = {
  id: "depot",
  name: ({ name }) => name,
  draw(rng, level) {
    const extras = new Set(sample(EXTRAS, at(COUNTS, level - 1), rng));
    const capacity = between(rng, 12, 30);
    return {
      is: "depot",
      name: rng.pick(NAMES),
      capacity,
      start: between(rng, 0, capacity - 4),
      fills: rng.integer(2) === 0,
      partly: !extras.has("locks") && rng.integer(2) === 0,
      locksAfter: extras.has("locks") ? between(rng, 2, 3) : null,
      clears: rng.integer(3) > 0,
      feeFrom: extras.has("fee") ? between(rng, 4, 9) : null,
      refill: between(rng, 1, 4),
      spoilsEvery: extras.has("spoils") ? between(rng, 2, 4) : null,
      reserve: extras.has("reserve") ? between(rng, 2, 5) : null,
    };
  },
  head: ({ name, locksAfter }) =>
    `\`${name}()\` makes an object with the methods \`put(n)\`, \`take(n)\`, \`tick()\`, \`level()\`${locksAfter === null ? "" : ", `unlock()`"}. n is a whole number from 1 to 40. Each method returns a whole number or a truth value as the rules say; \`tick()\`${locksAfter === null ? " returns" : " and `unlock()` return"} the level. Everything else, such as attributes and other arguments, is left open.`,
  rules,
  python,
  run: (spec, calls) => run(spec, calls as readonly (readonly [string, number])[]),
  anyInput: (spec, rng) => drawCalls(spec, rng, () => between(rng, 1, 40)),
  edgeInput: (spec, rng) =>
    drawCalls(spec, rng, () =>
      rng.pick([
        1,
        2,
        spec.capacity,
        spec.start,
        spec.capacity - spec.start,
        spec.feeFrom ?? 3,
        (spec.feeFrom ?? 3) - 1,
        spec.refill,
        between(rng, 1, 12),
      ]),
    ),
  mutants,
  test: ({ name }, input, result) => [
    `it = ${name}()`,
    ...(input as readonly (readonly [string, number])[]).map(([method, n], index) => {
      const value = literal((result as readonly Json[])[index] ?? null, "python");
      return `assert it.${method}(${n === 0 ? "" : n}) == ${value}`;
    }),
  ],
};

function rules(spec: Depot): string[] {
  const { capacity, reserve, locksAfter, feeFrom, spoilsEvery } = spec;
  const bound = reserve === null ? `${capacity}` : `${capacity + reserve}`;
  const taken = [
    "take(n) removes n units and returns True.",
    feeFrom === null
      ? ""
      : `A take with n of at least ${feeFrom} removes one unit more than n, unless only n are there: then it removes these.`,
    spec.partly
      ? "If fewer than n units are there, it removes all of them and returns False."
      : "If fewer than n units are there, it is refused: it removes nothing and returns False.",
  ];
  return [
    `A new object holds ${spec.start} units.`,
    `put(n) adds n units and returns how many it added. If there would be more than ${bound} then, ${spec.fills ? `it adds only what brings the level to ${bound}, which may be 0` : "it adds nothing and returns 0"}.`,
    taken.filter((text) => text !== "").join(" "),
    ...(locksAfter === null
      ? []
      : [
          `After ${locksAfter} refused takes${spec.clears ? " in a row, with other calls than take between them or not," : ", whether others succeed between them or not,"} the object is locked: every take returns False and removes nothing, and counts no more. unlock() ends this, and sets the count of refused takes to 0, also when the object is not locked.`,
        ]),
    `tick() adds ${spec.refill} unit${spec.refill === 1 ? "" : "s"}, but not beyond a level of ${capacity}.${reserve === null ? "" : ` If the level is above ${capacity} before, it becomes ${capacity} instead.`}`,
    ...(spoilsEvery === null
      ? []
      : [
          `With every ${["", "", "second", "third", "fourth", "fifth"][spoilsEvery] ?? `${spoilsEvery}th`} tick of an object, after this, a third of the level, rounded down, is lost.`,
        ]),
    "level() returns how many units are there.",
  ];
}

function drawCalls(spec: Depot, rng: Rng, amount: () => number): Input {
  const methods = [
    "put",
    "put",
    "take",
    "take",
    "take",
    "tick",
    "level",
    ...(spec.locksAfter === null ? [] : ["unlock"]),
  ];
  return range(between(rng, 3, 11)).map((): Json => {
    const method = rng.pick(methods);
    return [method, method === "put" || method === "take" ? Math.min(40, Math.max(1, amount())) : 0];
  });
}

function run(spec: Depot, input: readonly (readonly [string, number])[]): Json {
  let [level, failed, ticks] = [spec.start, 0, 0];
  const bound = spec.capacity + (spec.reserve ?? 0);
  const { flaw } = spec;
  return input.map(([method, n]): Json => {
    switch (method) {
      case "put": {
        const room = bound - level;
        if (flaw === "put-clears") failed = 0;
        if (flaw === "full-put-refused" && n === room) return 0;
        const added = n <= room ? n : spec.fills ? Math.max(0, room) : 0;
        level += added;
        return added;
      }
      case "take": {
        if (spec.locksAfter !== null && failed >= spec.locksAfter) return false;
        if (n > level || (flaw === "last-take-refused" && n === level)) {
          failed += 1;
          if (spec.partly) level = 0;
          else if (flaw === "refused-costs" && level > 0) level -= 1;
          return false;
        }
        if (spec.clears) failed = 0;
        level = Math.max(0, level - n - Number(spec.feeFrom !== null && n >= spec.feeFrom));
        return true;
      }
      case "tick":
        if (flaw === "tick-clears") failed = 0;
        if (flaw === "locked-tick-idles" && spec.locksAfter !== null && failed >= spec.locksAfter) return level;
        if (flaw === "full-tick-uncounted" && level >= spec.capacity) return (level = spec.capacity);
        if (flaw === "spoils-first") {
          ticks += 1;
          if (spec.spoilsEvery !== null && ticks % spec.spoilsEvery === 0) level -= Math.floor(level / 3);
          level = Math.min(spec.capacity, level + spec.refill);
          return level;
        }
        level = Math.min(spec.capacity, level + spec.refill);
        ticks += 1;
        if (spec.spoilsEvery !== null && ticks % spec.spoilsEvery === 0) level -= Math.floor(level / 3);
        return level;
      case "unlock":
        failed = 0;
        return level;
      default:
        return level;
    }
  });
}

/** Names of the attributes, which no test may use. */
interface Names {
  readonly level: string;
  readonly failed: string;
  readonly ticks: string;
}

function python(spec: Depot, style: Style): string {
  const { rng } = style;
  const names = {
    level: rng.pick(["held", "stock", "_level"]),
    failed: rng.pick(["failures", "refused", "misses"]),
    ticks: rng.pick(["ticks", "time", "age"]),
  };
  const { level, failed, ticks } = names;
  return [
    `class ${spec.name}:`,
    "    def __init__(self):",
    `        self.${level} = ${spec.start}`,
    `        self.${failed} = 0`,
    `        self.${ticks} = 0`,
    ...putLines(spec, style, names),
    ...takeLines(spec, style, names),
    ...tickLines(spec, style, names),
    ...(spec.locksAfter === null
      ? []
      : ["    def unlock(self):", `        self.${failed} = 0`, `        return self.${level}`]),
    "    def level(self):",
    `        return self.${level}`,
  ].join("\n");
}

/** What a method does with numbers that the specification does not allow. */
function checkLines({ rng, open }: Style): string[] {
  if (open === "odd") return ["        n = abs(n)"];
  if (open === "plain") return [];
  return ["        if n < 1 or n > 40:", `            raise ${rng.pick(["ValueError", "TypeError"])}("n")`];
}

function putLines({ flaw, capacity, reserve, fills }: Depot, style: Style, { level, failed }: Names): string[] {
  const bound = capacity + (reserve ?? 0);
  return [
    "    def put(self, n):",
    ...checkLines(style),
    ...(flaw === "put-clears" ? [`        self.${failed} = 0`] : []),
    ...(flaw === "full-put-refused" ? [`        if self.${level} + n == ${bound}:`, "            return 0"] : []),
    style.rng.pick([`        if self.${level} + n > ${bound}:`, `        if n > ${bound} - self.${level}:`]),
    `            ${fills ? `n = max(0, ${bound} - self.${level})` : "return 0"}`,
    `        self.${level} += n`,
    "        return n",
  ];
}

function takeLines(
  { flaw, feeFrom, locksAfter, partly, clears }: Depot,
  style: Style,
  { level, failed }: Names,
): string[] {
  const { rng } = style;
  const fee =
    feeFrom === null
      ? []
      : [
          rng.pick([
            `        if n >= ${feeFrom} and self.${level} > 0:`,
            `        if self.${level} and n > ${feeFrom - 1}:`,
          ]),
          `            self.${level} -= 1`,
        ];
  return [
    "    def take(self, n):",
    ...checkLines(style),
    ...(locksAfter === null ? [] : [`        if self.${failed} >= ${locksAfter}:`, "            return False"]),
    flaw === "last-take-refused"
      ? `        if self.${level} <= n:`
      : rng.pick([`        if self.${level} < n:`, `        if not n <= self.${level}:`]),
    `            self.${failed} += 1`,
    ...(partly ? [`            self.${level} = 0`] : []),
    ...(flaw === "refused-costs" && !partly ? [`            self.${level} = max(0, self.${level} - 1)`] : []),
    "            return False",
    ...(clears ? [`        self.${failed} = 0`] : []),
    `        self.${level} -= n`,
    ...fee,
    "        return True",
  ];
}

function tickLines(spec: Depot, { rng }: Style, { level, failed, ticks }: Names): string[] {
  const { flaw, capacity, spoilsEvery } = spec;
  const count = [`        self.${ticks} += 1`];
  const due = rng.pick([
    [`        if self.${ticks} % ${spoilsEvery} == 0:`],
    [`        if self.${ticks} == ${spoilsEvery}:`, `            self.${ticks} = 0`],
  ]);
  const spoiling = spoilsEvery === null ? [] : [...count, ...due, `            self.${level} -= self.${level} // 3`];
  const refill = rng.pick([
    [`        self.${level} = min(${capacity}, self.${level} + ${spec.refill})`],
    [
      `        self.${level} += ${spec.refill}`,
      `        if self.${level} > ${capacity}:`,
      `            self.${level} = ${capacity}`,
    ],
  ]);
  const full = [`        if self.${level} >= ${capacity}:`, `            self.${level} = ${capacity}`];
  return [
    "    def tick(self):",
    ...(flaw === "tick-clears" ? [`        self.${failed} = 0`] : []),
    ...(flaw === "locked-tick-idles"
      ? [`        if self.${failed} >= ${spec.locksAfter}:`, `            return self.${level}`]
      : []),
    ...(flaw === "full-tick-uncounted" ? [...full, `            return self.${level}`] : []),
    ...(flaw === "spoils-first" ? [...spoiling, ...refill] : [...refill, ...spoiling]),
    `        return self.${level}`,
  ];
}

function mutants(spec: Depot): Mutant<Depot>[] {
  const one = (operator: string, change: Partial<Depot>): Mutant<Depot> => ({ operator, spec: { ...spec, ...change } });
  const { locksAfter, feeFrom, spoilsEvery, reserve } = spec;
  return [
    one("constant", { capacity: spec.capacity + 1 }),
    one("boundary", { capacity: spec.capacity - 1 }),
    one("constant", { start: spec.start + 1 }),
    one("constant", { refill: spec.refill + 1 }),
    one("forgotten-rule", { refill: 0 }),
    one("overflow", { fills: !spec.fills }),
    one("refusal", { partly: !spec.partly }),
    one("boundary", { flaw: "full-put-refused" }),
    one("boundary", { flaw: "last-take-refused" }),
    ...(spec.partly ? [] : [one("refusal", { flaw: "refused-costs" })]),
    ...(locksAfter === null
      ? []
      : [
          one("counter", { locksAfter: locksAfter + 1 }),
          one("counter", { locksAfter: locksAfter - 1 }),
          one("forgotten-rule", { locksAfter: 99 }),
          one("counter-reset", { clears: !spec.clears }),
          one("counter-reset", { flaw: "put-clears" }),
          one("counter-reset", { flaw: "tick-clears" }),
          one("state", { flaw: "locked-tick-idles" }),
        ]),
    ...(feeFrom === null
      ? []
      : [
          one("boundary", { feeFrom: feeFrom + 1 }),
          one("constant", { feeFrom: feeFrom - 1 }),
          one("forgotten-rule", { feeFrom: null }),
        ]),
    ...(spoilsEvery === null
      ? []
      : [
          one("counter", { spoilsEvery: spoilsEvery + 1 }),
          one("forgotten-rule", { spoilsEvery: null }),
          one("counter", { spoilsEvery: spoilsEvery - 1 }),
          one("order", { flaw: "spoils-first" }),
          one("state", { flaw: "full-tick-uncounted" }),
        ]),
    ...(reserve === null
      ? []
      : [
          one("constant", { reserve: reserve + 1 }),
          one("forgotten-rule", { reserve: null }),
          one("constant", { reserve: 1 }),
        ]),
  ];
}
