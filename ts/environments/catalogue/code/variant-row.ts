/**
 * Functions whose rules are a base with optional rules and drawn constants.
 *
 * Rules and gold program are templates: a line that ends in `#?name` stands only where the optional rule `name` holds, a line that ends in
 * `#!name` only where it does not, and `{{name}}` is a constant. A level has more optional rules than the one below it. Every slip forgets or
 * invents one of them, or has a constant that is too large by one.
 */
import { sample } from "../../../random/draws.ts";
import type { Rng } from "../../../random/rng.ts";
import { at } from "../lists.ts";
import type { Level, ProgramRow } from "../row.ts";
import { type Calls, functionRow } from "./function-row.ts";
import type { Json } from "./json.ts";
import { numbered } from "./prose.ts";

type Constants = Readonly<Record<string, number | string>>;
/** Whether an optional rule holds. */
export type Holds<Extra extends string> = (extra: Extra) => boolean;

export interface VariantRow<Extra extends string, Values extends Constants> {
  readonly id: string;
  readonly asks: string;
  readonly name: string;
  readonly parameters: readonly string[];
  /** Names of the optional rules. Any of them may hold together. */
  readonly extras: readonly Extra[];
  /** How many of them hold at each level. Default: 1, 2, 3, 4, 5. */
  readonly counts?: readonly [number, number, number, number, number];
  readonly constants: (rng: Rng, level: Level) => Values;
  /** Four introductions. */
  readonly stories: readonly [string, string, string, string];
  /** Template with one rule a line. */
  readonly rules: string;
  /** Template: arguments and result. */
  readonly types: string;
  calls(values: Values, rng: Rng, on: Holds<Extra>): Calls;
  /** What a call returns. Methods take the arguments with the types that `calls` gives them. */
  solve(call: readonly Json[], values: Values, on: Holds<Extra>): Json;
  /** Template of the gold program. */
  readonly python: string;
  readonly javascript?: string;
}

interface Spec<Extra extends string, Values> {
  readonly extras: readonly Extra[];
  readonly values: Values;
}

const COUNTS = [1, 2, 3, 4, 5] as const;
const BASE_EFFORT = 3;
const EFFORT_OF_EXTRA = 2;

export function variantRow<const Extra extends string, Values extends Constants>(
  row: VariantRow<Extra, Values>,
): ProgramRow {
  type One = Spec<Extra, Values>;
  const holds = ({ extras }: One): Holds<Extra> => {
    const on = new Set<string>(extras);
    return (extra) => on.has(extra);
  };
  const fill = (template: string) => {
    const filled = compiled(template);
    return (spec: One): string => filled(new Set<string>(spec.extras), spec.values);
  };
  const [rules, types, python] = [fill(row.rules), fill(row.types), fill(row.python)];
  return functionRow<One>({
    id: row.id,
    asks: row.asks,
    name: row.name,
    parameters: row.parameters,
    make: (rng, level) => {
      const on = new Set(sample(row.extras, at(row.counts ?? COUNTS, level - 1), rng));
      return { extras: row.extras.filter((extra) => on.has(extra)), values: row.constants(rng, level) };
    },
    effort: ({ extras, values }) => BASE_EFFORT + EFFORT_OF_EXTRA * extras.length + Object.keys(values).length,
    stories: row.stories.map((story) => () => story),
    rules: (spec) => numbered(rules(spec).split("\n")),
    types: (spec) => types(spec).replaceAll("\n", " "),
    calls: (spec, rng) => row.calls(spec.values, rng, holds(spec)),
    solve: (spec, call) => row.solve(call, spec.values, holds(spec)),
    python,
    ...(row.javascript === undefined ? {} : { javascript: fill(row.javascript) }),
    slips: (spec) => [
      ...spec.extras.map((extra) => ({ ...spec, extras: toggled(row.extras, spec.extras, extra) })),
      ...Object.entries(spec.values).flatMap(([key, value]) =>
        typeof value === "number" ? [{ ...spec, values: { ...spec.values, [key]: value + 1 } }] : [],
      ),
      ...row.extras.flatMap((extra) =>
        spec.extras.includes(extra) ? [] : [{ ...spec, extras: toggled(row.extras, spec.extras, extra) }],
      ),
    ],
  });
}

/** The extras, in the order of all, with one of them added or removed. */
function toggled<Extra extends string>(all: readonly Extra[], some: readonly Extra[], one: Extra): Extra[] {
  return all.filter((extra) => some.includes(extra) !== (extra === one));
}

type Filled = (on: ReadonlySet<string>, values: Constants) => string;

/** The lines of a template that stand under the optional rules, with its constants. */
function compiled(template: string): Filled {
  const lines = template
    .trim()
    .split("\n")
    .map((line) => {
      const tags = [...line.matchAll(/#([?!])([a-z-]+)/gu)].map(([, sign, extra = ""]) => ({
        is: sign === "?",
        extra,
      }));
      const text = line.replaceAll(/ *#[?!][a-z-]+/gu, "");
      return { tags, parts: text.split(/\{\{([a-z]+)\}\}/u) };
    });
  return (on, values) =>
    lines
      .filter(({ tags }) => tags.every(({ is, extra }) => on.has(extra) === is))
      .map(({ parts }) => parts.map((part, index) => (index % 2 === 1 ? String(values[part] ?? "") : part)).join(""))
      .join("\n");
}
