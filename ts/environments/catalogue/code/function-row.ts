/**
 * Rows whose answer is one function, written from described rules.
 *
 * The rules are data. TypeScript computes what is expected from them, and the gold program says the same in another language, so each finds
 * mistakes of the other. Hidden calls come in classes; a shown example is never among them. Where classes earn shares, each runs in a process for
 * itself, else all calls run in one. Every slip, which is the rules with a change, gives another result in some hidden call, or the instance is
 * dropped.
 */
import { canonicalJson } from "../../../canonical-json.ts";
import { createRng, type Rng } from "../../../random/rng.ts";
import { at } from "../lists.ts";
import { defineProgramRow, type Exam, type Level, type ProgramRow } from "../row.ts";
import { functionCheats } from "./function-cheats.ts";
import { type Json, literal, type ScriptLanguage } from "./json.ts";

export type Calls = Readonly<Record<string, readonly (readonly Json[])[]>>;

export interface FunctionRow<Spec extends object> {
  readonly id: string;
  readonly asks: string;
  readonly name: string;
  readonly parameters: readonly string[];
  /** The rules; null where they are degenerate. */
  readonly make: (rng: Rng, level: Level) => Spec | null;
  readonly effort: (spec: Spec) => number;
  /** Four introductions. */
  readonly stories: readonly ((spec: Spec) => string)[];
  readonly rules: (spec: Spec) => string;
  /** Arguments and result. */
  readonly types: (spec: Spec) => string;
  /** Calls by class; the first call of some classes is shown. At least four calls of each class, and three classes. */
  readonly calls: (spec: Spec, rng: Rng) => Calls;
  /** What a call returns. */
  readonly solve: (spec: Spec, call: readonly Json[]) => Json;
  readonly python: (spec: Spec) => string;
  readonly javascript?: (spec: Spec) => string;
  /** Rules with a change that a careless reader makes. */
  readonly slips: (spec: Spec) => readonly Spec[];
  /** Credit is the squared share of the classes whose calls are all right, and each class is a reported part; else all or nothing. */
  readonly shares?: boolean;
  readonly timeLimitMs?: number;
}

interface Instance<Spec> {
  readonly spec: Spec;
  readonly language: ScriptLanguage;
  /** Of the hidden calls. */
  readonly seed: number;
}

const SHOWN = 3;
const LEAST_SLIPS = 3;
/** Largest share of the hidden calls with one result. */
const MOST_EQUAL = 0.4;
/** A number that floating-point arithmetic of the host may have rounded. */
const UNSAFE = /\d{16}|\de\+\d/u;
const STRINGS = /"(?:[^"\\]|\\.)*"/gu;
const TIME_LIMIT_MS = 4_000;
const NAMES = { python: "Python 3", javascript: "JavaScript" } as const;
const ALL_CALLS = "answers_of_all_calls";

/** What follows from an instance that was just drawn, so that the generator works it out once. */
const PREPARED = new WeakMap<object, Prepared>();

interface Prepared {
  /** Names of the classes. */
  readonly classes: readonly string[];
  readonly shown: readonly (readonly Json[])[];
  readonly hidden: readonly (readonly (readonly Json[])[])[];
  /** Canonical results of the hidden calls, by class. */
  readonly results: readonly (readonly string[])[];
}

export function functionRow<Spec extends object>(row: FunctionRow<Spec>): ProgramRow {
  const goldOf = (spec: Spec, language: ScriptLanguage): string =>
    (language === "javascript" ? (row.javascript ?? row.python) : row.python)(spec).trim();
  return defineProgramRow<Instance<Spec>>({
    id: row.id,
    asks: row.asks,
    place: "code",
    ...(row.shares === true ? { reportsParts: true } : {}),
    make: (rng, level) => {
      const spec = row.make(rng, level);
      if (spec === null) return null;
      const language = row.javascript !== undefined && rng.integer(3) === 0 ? "javascript" : "python";
      const instance = { spec, language, seed: rng.integer(2 ** 31) } as const;
      return isWorthwhile(row, instance) ? instance : null;
    },
    effort: ({ spec }) => row.effort(spec),
    canonical: ({ spec }) => spec,
    prompts: [0, 1, 2, 3].map((index) => (instance) => wording(row, instance, index)),
    gold: ({ spec, language }) => goldOf(spec, language),
    nearMisses: (instance) => seenSlips(row, instance).map((slip) => goldOf(slip, instance.language)),
    exam: (instance) => examOf(row, instance),
    cheats: (instance) => functionCheats(row.name, shownOf(row, instance), instance.language),
  });
}

/** The shown examples, and the hidden calls with their results. */
function callsOf<Spec extends object>(row: FunctionRow<Spec>, instance: Instance<Spec>): Prepared {
  const known = PREPARED.get(instance);
  if (known !== undefined) return known;
  const { spec, seed } = instance;
  const named = row.calls(spec, createRng(seed));
  const classes = Object.values(named);
  const shown = classes.slice(0, SHOWN).map((calls) => at(calls, 0));
  const seen = new Set(shown.map(textOf));
  const hidden = classes.map((calls) => calls.filter((call) => !seen.has(textOf(call))));
  const results = hidden.map((calls) => calls.map((call) => textOf(row.solve(spec, call))));
  const prepared = { classes: Object.keys(named), shown, hidden, results };
  PREPARED.set(instance, prepared);
  return prepared;
}

function shownOf<Spec extends object>(
  row: FunctionRow<Spec>,
  instance: Instance<Spec>,
): { call: readonly Json[]; result: Json }[] {
  return callsOf(row, instance).shown.map((call) => ({ call, result: row.solve(instance.spec, call) }));
}

function examOf<Spec extends object>(row: FunctionRow<Spec>, instance: Instance<Spec>): Exam {
  const { spec, language } = instance;
  const prepared = callsOf(row, instance);
  // Processes take longer than calls, and where all results have to be right it does not matter which process gave a wrong one.
  const parts = row.shares === true ? prepared.hidden : [prepared.hidden.flat()];
  const tests = parts.map((calls) => ({ input: [calls], output: calls.map((call) => row.solve(spec, call)) }));
  return {
    language,
    program: (answer) => `${answer}\n\n${allCalls(row.name, language)}`,
    functionName: ALL_CALLS,
    tests,
    timeLimitMs: row.timeLimitMs ?? TIME_LIMIT_MS,
    ...(row.shares === true ? { base: 0, parts: prepared.classes.map((name) => [name]) } : {}),
  };
}

/** Calls the function for each list of arguments. A tuple is a list, as the outermost value of a call is everywhere. */
function allCalls(name: string, language: ScriptLanguage): string {
  if (language === "javascript")
    return `function ${ALL_CALLS}(calls) { return calls.map((call) => ${name}(...call)); }`;
  return `def ${ALL_CALLS}(calls):
    results = [${name}(*call) for call in calls]
    return [list(result) if isinstance(result, tuple) else result for result in results]
`;
}

/** Equal for equal values. Sorting keys takes longer than all the rest, and few values have any. */
function textOf(value: Json | readonly Json[] | undefined): string {
  const text = JSON.stringify(value) ?? "null";
  return text.includes("{") ? canonicalJson(value) : text;
}

/** Not where one result is frequent, where a class has one result only, and where a slip is not seen. */
function isWorthwhile<Spec extends object>(row: FunctionRow<Spec>, instance: Instance<Spec>): boolean {
  const { hidden, results } = callsOf(row, instance);
  if (results.length < SHOWN || results.some((some) => new Set(some).size < 2)) return false;
  const all = results.flat();
  if (all.some((result) => UNSAFE.test(result.replaceAll(STRINGS, "")))) return false;
  const counts = new Map<string, number>();
  for (const result of all) counts.set(result, (counts.get(result) ?? 0) + 1);
  if (Math.max(...counts.values()) > MOST_EQUAL * all.length) return false;
  const echoed = hidden.flat().filter((call, index) => textOf(call[0]) === all[index]);
  if (echoed.length > MOST_EQUAL * all.length) return false;
  return seenSlips(row, instance, LEAST_SLIPS).length >= LEAST_SLIPS;
}

/** Slips that some hidden call shows, with different programs; no more than `most`. */
function seenSlips<Spec extends object>(row: FunctionRow<Spec>, instance: Instance<Spec>, most = Infinity): Spec[] {
  const prepared = callsOf(row, instance);
  const [calls, right] = [prepared.hidden.flat(), prepared.results.flat()];
  const programs = new Map<string, Spec>();
  for (const slip of row.slips(instance.spec)) {
    if (programs.size >= most) break;
    if (calls.some((call, index) => textOf(row.solve(slip, call)) !== right[index]))
      programs.set(row.python(slip), slip);
  }
  return [...programs.values()];
}

function wording<Spec extends object>(row: FunctionRow<Spec>, instance: Instance<Spec>, index: number): string {
  const { spec, language } = instance;
  const [story, rules, types] = [at(row.stories, index)(spec), row.rules(spec), row.types(spec)];
  const head = `${row.name}(${row.parameters.join(", ")})`;
  const examples = shownOf(row, instance)
    .map(({ call, result }) => {
      const values = call.map((value) => literal(value, language)).join(", ");
      return `${row.name}(${values}) ${language === "python" ? "==" : "->"} ${literal(result, language)}`;
    })
    .join("\n");
  const named = NAMES[language];
  return at(
    [
      `${story}\n\n${rules}\n\n${types}\n\nWrite it as the ${named} function ${head}. For instance:\n\n${examples}`,
      `Implement ${head} in ${named}. ${types}\n\n${story}\n\n${rules}\n\nSome results:\n\n${examples}`,
      `${story} We need ${head} in ${named}, and these hold:\n\n${examples}\n\nIn full:\n\n${rules}\n\n${types}`,
      `Task: a function ${head}, language ${named}, standard library only.\n\n${rules}\n\n${story}\n\n${types}\n\nChecks to begin with:\n\n${examples}`,
    ],
    index,
  );
}
