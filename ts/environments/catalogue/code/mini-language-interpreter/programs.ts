/** Draws programs that show what a feature means: with another meaning of it they print something else. */
import { between, firstDrawn, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";
import { type Feature, hasFunctions, type Language, otherMeanings } from "./language.ts";
import { Excess, shownByTree } from "./run.ts";
import { type Block, type Expression, type Operator, type Statement, textOf } from "./syntax.ts";

const NAMES = ["a", "b", "c", "n", "x"];
const FUNCTIONS = ["f", "g"];
const TRIES = 60;
const MOST_LINES = 40;
const LEAST_LINES = 2;

/** Programs in which the feature matters, and which show each other meaning of it; null where they are not found. */
export function programsOf(language: Language, feature: Feature, count: number, rng: Rng): string[] | null {
  const used = new Set<Feature>([feature]);
  const others = otherMeanings(language, feature);
  const shown = new Set<Language>();
  const texts = several(count, () =>
    firstDrawn(TRIES, () => {
      const program = new Draw(used, feature, rng).program();
      const lines = linesOf(language, program);
      if (lines === null) return null;
      const seen = others.filter((other) => differs(lines, linesOf(other, program)));
      for (const other of seen) shown.add(other);
      return seen.length > 0 ? textOf(language, program) : null;
    }),
  );
  return shown.size === others.length ? texts : null;
}

/** Programs with all features of the language, in each of which several matter. */
export function mixedPrograms(language: Language, count: number, rng: Rng): string[] | null {
  const used = new Set(language.features);
  return several(count, () =>
    firstDrawn(TRIES, () => {
      const program = new Draw(used, rng.pick(language.features), rng).program();
      const lines = linesOf(language, program);
      if (lines === null) return null;
      const seen = language.features.filter((feature) =>
        otherMeanings(language, feature).some((other) => differs(lines, linesOf(other, program))),
      );
      return seen.length >= Math.min(3, language.features.length) ? textOf(language, program) : null;
    }),
  );
}

function several(count: number, draw: () => string | null): string[] | null {
  const found = new Set<string>();
  for (let turn = 0; turn < 2 * count && found.size < count; turn++) {
    const text = draw();
    if (text === null) return null;
    found.add(text);
  }
  return found.size < count ? null : [...found];
}

function linesOf(language: Language, program: Block): string[] | null {
  try {
    const lines = shownByTree(language, program);
    return lines.length < LEAST_LINES || lines.length > MOST_LINES ? null : lines;
  } catch (error) {
    if (error instanceof Excess) return null;
    throw error;
  }
}

/** A run that takes too long under another meaning shows nothing. */
function differs(lines: readonly string[], others: readonly string[] | null): boolean {
  return others !== null && others.join("\n") !== lines.join("\n");
}

class Draw {
  private readonly used: ReadonlySet<Feature>;
  private readonly focus: Feature;
  private readonly rng: Rng;
  private readonly names: readonly string[];
  private readonly functions: { name: string; parameters: number }[] = [];

  constructor(used: ReadonlySet<Feature>, focus: Feature, rng: Rng) {
    [this.used, this.focus, this.rng] = [used, focus, rng];
    this.names = sample(NAMES, 4, rng);
  }

  program(): Block {
    const { rng } = this;
    const definitions = hasFunctions([...this.used])
      ? range(between(rng, 1, 2)).map((index) => this.definition(index))
      : [];
    // Names without a value at first are for the features that they show.
    const isOpen = this.has("unknown") || this.has("blocks") || this.has("sight");
    const first: Statement[] = this.names
      .slice(0, isOpen ? between(rng, 2, 3) : this.names.length)
      .map((name) => ({ do: "set", name, to: { number: between(rng, -9, 12) } }));
    const last: Statement[] = this.names.slice(0, 3).map((name) => ({ do: "show", value: { name } }));
    return [...definitions, ...first, ...this.block(between(rng, 3, 6), 2), ...last];
  }

  private has(feature: Feature): boolean {
    return this.used.has(feature);
  }

  /** Half of the time where the feature is what the program is about. */
  private favours(feature: Feature, others = 8): boolean {
    return this.has(feature) && this.rng.integer(this.focus === feature ? 2 : others) === 0;
  }

  private definition(index: number): Statement {
    const { rng } = this;
    const parameters = sample(this.names, between(rng, 1, 2), rng);
    const body: Statement[] = [
      ...this.block(between(rng, 1, 3), 1),
      ...(rng.integer(4) === 0 ? [] : [{ do: "return", value: this.expression(1) } as const]),
    ];
    const name = FUNCTIONS[index] ?? "h";
    this.functions.push({ name, parameters: parameters.length });
    return { do: "define", name, parameters, body };
  }

  private block(count: number, depth: number): Block {
    return range(count).map(() => this.statement(depth));
  }

  private statement(depth: number): Statement {
    const { rng } = this;
    const name = rng.pick(this.names);
    if (depth > 0) {
      if (this.favours("attempt", 6)) return this.attempt(depth);
      if (this.favours("repeat", 6)) {
        const count: Expression = rng.integer(2) === 0 ? { name } : { number: between(rng, 1, 4) };
        const change: Statement = {
          do: "set",
          name,
          to: { op: rng.pick(["+", "-"]), left: { name }, right: { number: 1 } },
        };
        return {
          do: "repeat",
          test: count,
          body: [...this.block(1, depth - 1), change, { do: "show", value: { name } }],
        };
      }
      if (this.favours("while", 6)) {
        const change: Statement = {
          do: "set",
          name,
          to: { op: rng.pick(["+", "-"]), left: { name }, right: { number: between(rng, 1, 3) } },
        };
        const test: Expression =
          rng.integer(2) === 0 ? { name } : { op: "<", left: { name }, right: { number: between(rng, 2, 30) } };
        return { do: "while", test, body: [change, ...this.block(1, depth - 1)] };
      }
      if (this.favours("blocks", 6) || this.favours("truth", 6) || rng.integer(6) === 0)
        return {
          do: "if",
          test: this.has("truth") ? this.expression(1) : this.comparison(),
          holds: this.block(between(rng, 1, 2), depth - 1),
          fails: rng.integer(2) === 0 ? [] : this.block(1, depth - 1),
        };
    }
    return rng.integer(3) === 0
      ? { do: "show", value: this.expression(2) }
      : { do: "set", name, to: this.expression(2) };
  }

  private attempt(depth: number): Statement {
    const { rng } = this;
    const end: Statement[] =
      rng.integer(4) === 0
        ? []
        : [
            rng.integer(3) === 0
              ? { do: "show", value: { op: "+", left: this.expression(1), right: { number: 1 } } }
              : { do: "fail", value: { number: between(rng, 1, 9) } },
          ];
    const name = rng.pick(this.names);
    return {
      do: "attempt",
      body: [{ do: "set", name, to: this.expression(1) }, ...this.block(1, depth - 1), ...end],
      rescue: [{ do: "show", value: { name } }, ...this.block(1, depth - 1)],
    };
  }

  private comparison(): Expression {
    return { op: this.rng.pick(["<", "="]), left: this.expression(0), right: this.expression(0) };
  }

  private expression(depth: number): Expression {
    const { rng } = this;
    if (depth === 0) return rng.integer(3) === 0 ? { number: between(rng, -9, 12) } : { name: rng.pick(this.names) };
    const spoken = (): Expression =>
      rng.integer(2) === 0 && (this.has("order") || this.has("logic"))
        ? { tell: this.expression(depth - 1) }
        : this.expression(depth - 1);
    if (this.functions.length > 0 && rng.integer(3) === 0) {
      const { name, parameters } = rng.pick(this.functions);
      const count = this.favours("arity") ? between(rng, 0, parameters + 1) : parameters;
      return {
        call: name,
        values: range(count).map(() => (this.has("order") ? spoken() : this.expression(rng.integer(2)))),
      };
    }
    if (this.favours("logic")) return { op: rng.pick(["and", "or"]), left: spoken(), right: spoken() };
    const operators: readonly Operator[] = this.favours("division", 5)
      ? ["/", "%"]
      : ["+", "-", "*", "+", "-", "<", "="];
    return { op: rng.pick(operators), left: spoken(), right: spoken() };
  }
}
