/** Programs as closures: the generator runs each of many programs on many inputs. They mean what `small-python/run.ts` says. */
import { calculated, compared } from "../small-python/operators.ts";
import type { Expression, Program, Statement } from "../small-python/syntax.ts";

interface State {
  readonly numbers: number[];
  readonly lists: (readonly number[])[];
}

type Signal = "next" | "break" | "continue";
type Run = (state: State) => Signal;
type Value = (state: State) => number;

/** What a program gives for the list `xs`: its number `total`. */
export function compiled(program: Program): (xs: readonly number[]) => number {
  const names = new Names();
  const [xs, total] = [names.list("xs"), names.number("total")];
  const run = block(
    program.filter((statement) => statement.do !== "print"),
    names,
  );
  return (input) => {
    const state: State = { numbers: [], lists: [] };
    state.lists[xs] = input;
    run(state);
    return state.numbers[total] ?? 0;
  };
}

/** Places of numbers and lists by their names. */
class Names {
  readonly #numbers = new Map<string, number>();
  readonly #lists = new Map<string, number>();

  number(name: string): number {
    return placeOf(this.#numbers, name);
  }

  list(name: string): number {
    return placeOf(this.#lists, name);
  }
}

function placeOf(places: Map<string, number>, name: string): number {
  const known = places.get(name);
  if (known !== undefined) return known;
  places.set(name, places.size);
  return places.size - 1;
}

function block(program: Program, names: Names): Run {
  const runs = program.map((statement) => statementRun(statement, names));
  return (state) => {
    for (const run of runs) {
      const signal = run(state);
      if (signal !== "next") return signal;
    }
    return "next";
  };
}

function statementRun(statement: Statement, names: Names): Run {
  switch (statement.do) {
    case "set": {
      const [place, value] = [names.number(statement.name), valueOf(statement.to, names)];
      return (state) => {
        state.numbers[place] = value(state);
        return "next";
      };
    }
    case "list": {
      const place = names.list(statement.name);
      return (state) => {
        state.lists[place] = [...statement.values];
        return "next";
      };
    }
    case "append": {
      const [place, value] = [names.list(statement.list), valueOf(statement.value, names)];
      return (state) => {
        (state.lists[place] as number[]).push(value(state));
        return "next";
      };
    }
    case "if": {
      const { left, is, right } = statement.test;
      const [a, b] = [valueOf(left, names), valueOf(right, names)];
      const [holds, fails] = [block(statement.holds, names), block(statement.fails, names)];
      return (state) => (compared(a(state), is, b(state)) ? holds : fails)(state);
    }
    case "each": {
      const [place, list, body] = [
        names.number(statement.name),
        names.list(statement.list),
        block(statement.body, names),
      ];
      return (state) => {
        for (const item of state.lists[list] ?? []) {
          state.numbers[place] = item;
          if (body(state) === "break") break;
        }
        return "next";
      };
    }
    case "break":
    case "continue":
      return () => statement.do;
    default:
      throw new RangeError(`no step has the statement ${statement.do}`);
  }
}

function valueOf(expression: Expression, names: Names): Value {
  if ("number" in expression) return () => expression.number;
  if ("name" in expression) {
    const place = names.number(expression.name);
    return (state) => state.numbers[place] ?? 0;
  }
  if (!("op" in expression)) throw new RangeError("no step has such an expression");
  const [left, right, { op }] = [valueOf(expression.left, names), valueOf(expression.right, names), expression];
  return (state) => calculated(left(state), op, right(state));
}
