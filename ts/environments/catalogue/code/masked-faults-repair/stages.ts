/** Steps of a program with their rules in words, and the faults that each may have. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import {
  type Comparison,
  type Expression,
  name,
  number,
  operation,
  type Program,
  type Statement,
} from "../small-python/syntax.ts";

export interface Place {
  /** The list that the step reads, and the one that the step before it read. */
  readonly list: string;
  readonly before: string;
  /** The list that the step makes. */
  readonly out: string;
  readonly fault: string | null;
}

export interface Stage {
  readonly id: string;
  /** Names and values of constants. */
  readonly constants: (rng: Rng) => Readonly<Record<string, number>>;
  readonly rule: string;
  readonly faults: readonly string[];
  readonly build: (place: Place) => Program;
}

const set = (called: string, to: Expression): Statement => ({ do: "set", name: called, to });
const when = (left: Expression, is: Comparison, right: Expression, holds: Program): Statement => ({
  do: "if",
  test: { left, is, right },
  holds,
  fails: [],
});
const each = (list: string, body: Program): Statement => ({ do: "each", name: "x", list, body });
const [x, total, count, place, last] = ["x", "total", "count", "place", "last"].map(name) as [
  Expression,
  Expression,
  Expression,
  Expression,
  Expression,
];
const one = number(1);
const plus = (left: Expression, right: Expression): Expression => operation(left, "+", right);

/** A new list from another; `bypass` reads what the step before it read. */
function collected({ list, before, out, fault }: Place, start: Program, body: Program): Program {
  return [...start, { do: "list", name: out, values: [] }, each(fault === "bypass" ? before : list, body)];
}

const append = ({ out }: Place, value: Expression = x): Statement => ({ do: "append", list: out, value });

export const LIST_STAGES: readonly Stage[] = [
  {
    id: "floor",
    constants: (rng) => ({ floor: between(rng, 8, 20) }),
    rule: "values below `floor` are dropped; a value that equals it stays",
    faults: ["bypass", "boundary", "direction"],
    build: (at) =>
      collected(
        at,
        [],
        [
          when(
            x,
            ({ boundary: ">", direction: "<=" }[at.fault ?? ""] as Comparison | undefined) ?? ">=",
            name("floor"),
            [append(at)],
          ),
        ],
      ),
  },
  {
    id: "cap",
    constants: (rng) => ({ cap: between(rng, 40, 60) }),
    rule: "of a value above `cap`, half of what is above it counts, rounded down: it becomes `cap` and that half",
    faults: ["bypass", "dead-guard", "wrong-value", "half-up"],
    build: (at) => {
      const above = operation(x, "-", name("cap"));
      const half = operation(at.fault === "half-up" ? plus(above, one) : above, "//", number(2));
      const limit = at.fault === "dead-guard" ? operation(name("cap"), "*", number(3)) : name("cap");
      return collected(
        at,
        [],
        [when(x, ">", limit, [set("x", at.fault === "wrong-value" ? half : plus(name("cap"), half))]), append(at)],
      );
    },
  },
  {
    id: "repeats",
    constants: () => ({}),
    rule: "a value that equals the one just before it (in the list that this step gets) is dropped",
    faults: ["bypass", "stale-state", "inverted"],
    build: (at) =>
      collected(
        at,
        [set("last", number(0))],
        [
          when(x, at.fault === "inverted" ? "==" : "!=", last, [append(at)]),
          at.fault === "stale-state" ? when(last, "==", number(0), [set("last", x)]) : set("last", x),
        ],
      ),
  },
  {
    id: "every",
    constants: (rng) => ({ every: between(rng, 2, 4) }),
    rule: "counted from 1, each value whose place is a multiple of `every` is doubled",
    faults: ["bypass", "off-by-one", "wrong-value", "never-counted"],
    build: (at) =>
      collected(
        at,
        [set("place", at.fault === "off-by-one" ? one : number(0))],
        [
          ...(at.fault === "never-counted" ? [set("place", one)] : [set("place", plus(place, one))]),
          when(operation(place, "%", name("every")), "==", number(0), [
            set("x", at.fault === "wrong-value" ? plus(x, number(2)) : operation(x, "*", number(2))),
          ]),
          append(at),
        ],
      ),
  },
  {
    id: "stop",
    constants: (rng) => ({ stop: between(rng, 70, 90) }),
    rule: "the list ends before the first value that is at least `stop`; that value and all later ones are dropped",
    faults: ["bypass", "skips-only", "keeps-the-last", "boundary"],
    build: (at) =>
      collected(
        at,
        [],
        [
          ...(at.fault === "keeps-the-last" ? [append(at)] : []),
          when(x, at.fault === "boundary" ? ">" : ">=", name("stop"), [
            { do: at.fault === "skips-only" ? "continue" : "break" },
          ]),
          ...(at.fault === "keeps-the-last" ? [] : [append(at)]),
        ],
      ),
  },
  {
    id: "steps",
    constants: (rng) => ({ gap: between(rng, 5, 9) }),
    rule: "a value that is less than the largest value so far in this step, minus `gap`, is raised to that largest value minus `gap`",
    faults: ["bypass", "stale-state", "wrong-value"],
    build: (at) =>
      collected(
        at,
        [set("largest", number(0))],
        [
          when(x, ">", name("largest"), [
            set("largest", at.fault === "stale-state" ? operation(x, "//", number(2)) : x),
          ]),
          when(plus(x, name("gap")), "<", name("largest"), [
            set("x", at.fault === "wrong-value" ? name("largest") : operation(name("largest"), "-", name("gap"))),
          ]),
          append(at),
        ],
      ),
  },
];

/** After the list steps: `total` and `count`. */
export const SUM: Stage = {
  id: "sum",
  constants: () => ({}),
  rule: "the values that are left are added up to the total, and counted",
  faults: ["bypass", "overwritten", "off-by-one"],
  build: ({ list, before, fault }) => [
    set("total", fault === "off-by-one" ? one : number(0)),
    set("count", number(0)),
    each(fault === "bypass" ? before : list, [
      set("total", fault === "overwritten" ? x : plus(total, x)),
      set("count", plus(count, one)),
    ]),
  ],
};

export const TOTAL_STAGES: readonly Stage[] = [
  {
    id: "bonus",
    constants: (rng) => ({ need: between(rng, 3, 4), bonus: between(rng, 11, 29) }),
    rule: "if at least `need` values are left, `bonus` is added to the total",
    faults: ["boundary", "dead-guard", "wrong-value"],
    build: ({ fault }) => [
      when(fault === "dead-guard" ? number(0) : count, fault === "boundary" ? ">" : ">=", name("need"), [
        set("total", fault === "wrong-value" ? plus(total, name("need")) : plus(total, name("bonus"))),
      ]),
    ],
  },
  {
    id: "fee",
    constants: (rng) => ({ limit: between(rng, 100, 160), rate: between(rng, 6, 12) }),
    rule: "if the total is above `limit`, the total divided by `rate`, rounded down, is subtracted from it",
    faults: ["dead-guard", "wrong-value", "direction"],
    build: ({ fault }) => [
      when(
        total,
        fault === "direction" ? "<" : ">",
        fault === "dead-guard" ? operation(name("limit"), "*", number(20)) : name("limit"),
        [
          set(
            "total",
            operation(total, "-", operation(fault === "wrong-value" ? name("limit") : total, "//", name("rate"))),
          ),
        ],
      ),
    ],
  },
  {
    id: "least",
    constants: (rng) => ({ least: between(rng, 60, 90) }),
    rule: "a total below `least` becomes `least`",
    faults: ["direction", "wrong-value", "too-high"],
    build: ({ fault }) => [
      when(
        total,
        fault === "direction" ? ">" : "<",
        fault === "too-high" ? operation(name("least"), "*", number(90)) : name("least"),
        [set("total", fault === "wrong-value" ? number(0) : name("least"))],
      ),
    ],
  },
  {
    id: "few",
    constants: (rng) => ({ few: between(rng, 2, 3) }),
    rule: "if fewer than `few` values are left, the total becomes the number of values that are left",
    faults: ["boundary", "too-many", "wrong-value"],
    build: ({ fault }) => [
      when(
        count,
        fault === "boundary" ? "<=" : "<",
        fault === "too-many" ? operation(name("few"), "*", number(9)) : name("few"),
        [set("total", fault === "wrong-value" ? number(0) : count)],
      ),
    ],
  },
  {
    id: "round",
    constants: (rng) => ({ unit: between(rng, 4, 9) }),
    rule: "the total is rounded down to a multiple of `unit`",
    faults: ["wrong-value", "too-coarse"],
    build: ({ fault }) => [
      set(
        "total",
        operation(
          fault === "wrong-value" ? plus(total, one) : total,
          "-",
          operation(total, "%", fault === "too-coarse" ? operation(name("unit"), "*", number(900)) : name("unit")),
        ),
      ),
    ],
  },
];
