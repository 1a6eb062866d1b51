/** exit-status-flow: what a shell script prints when exit statuses decide, with functions, subshells and set -e. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Command =
  | { kind: "echo"; word: string }
  | { kind: "status" }
  | { kind: "show"; name: string }
  | { kind: "set"; name: string; value: number }
  | { kind: "end"; code: number }
  | { kind: "call"; name: number }
  | { kind: "not"; body: Command }
  | { kind: "and"; left: Command; right: Command }
  | { kind: "or"; left: Command; right: Command }
  | { kind: "if"; test: Command; taken: Command[]; otherwise: Command[] }
  | { kind: "group"; body: Command[]; isShell: boolean };
export interface FlowProblem {
  script: string[];
}
interface State {
  readonly values: Map<string, number>;
  status: number;
  readonly out: string[];
  steps: number;
}

/** By level: commands, depth, functions, least and most steps of a run. */
const SIZES = [
  [4, 1, 0, 4, 8],
  [5, 2, 0, 9, 14],
  [6, 2, 1, 15, 22],
  [7, 3, 2, 23, 32],
  [9, 3, 3, 33, 90],
] as const;
const NAMES = ["p", "q"];
/** Ends a shell: `set -e` after a failure. */
const STOPPED = Symbol("stopped");

export const exitStatusFlow = itemRow<FlowProblem>({
  id: "exit-status-flow",
  asks: "the output of a shell script whose exit statuses decide, with functions, subshells and set -e",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    ({ script }) =>
      `What does sh print when it runs this script?\n\n${script.join("\n")}\n\nGive the printed lines in order.`,
    ({ script }) =>
      `Shell script:\n\n${script.join("\n")}\n\nFollow the exit statuses and write down its standard output, one line per line.`,
    ({ script }) =>
      `Predict the output of the POSIX shell for\n\n${script.join("\n")}\n\nKeep in mind which commands a status skips, where a subshell ends, and when the shell stops early. Answer with the lines it prints.`,
    ({ script }) =>
      `Somebody debugs this with sh:\n\n${script.join("\n")}\n\nList what appears on the terminal, in the order in which it appears.`,
  ],
});

function textOf(command: Command): string {
  if (command.kind === "echo") return `echo ${command.word}`;
  if (command.kind === "status") return 'echo "st=$?"';
  if (command.kind === "show") return `echo "${command.name}=$${command.name}"`;
  if (command.kind === "set") return `${command.name}=${command.value}`;
  if (command.kind === "end") return `(exit ${command.code})`;
  if (command.kind === "call") return `f${command.name}`;
  if (command.kind === "not") return `! ${textOf(command.body)}`;
  if (command.kind === "and" || command.kind === "or")
    return `${textOf(command.left)} ${command.kind === "and" ? "&&" : "||"} ${textOf(command.right)}`;
  if (command.kind === "if") {
    const otherwise = command.otherwise.length === 0 ? "" : ` else ${command.otherwise.map(textOf).join("; ")};`;
    return `if ${textOf(command.test)}; then ${command.taken.map(textOf).join("; ")};${otherwise} fi`;
  }
  const inner = command.body.map(textOf).join("; ");
  return command.isShell ? `( ${inner} )` : `{ ${inner}; }`;
}

class Run {
  readonly functions: readonly Command[][];
  readonly stops: boolean;
  /** Of a reader who thinks that a subshell shares its variables. */
  readonly isShared: boolean;
  constructor(functions: readonly Command[][], stops: boolean, isShared = false) {
    this.functions = functions;
    this.stops = stops;
    this.isShared = isShared;
  }

  all(commands: readonly Command[], state: State, isTested: boolean): void {
    for (const command of commands) this.one(command, state, isTested);
  }

  /** `isTested`: the status is looked at by something around, so a failure does not end the shell. */
  one(command: Command, state: State, isTested: boolean): void {
    state.steps += 1;
    const { kind } = command;
    if (kind === "and" || kind === "or") {
      this.one(command.left, state, true);
      if ((state.status === 0) === (kind === "and")) this.one(command.right, state, isTested);
      return;
    }
    if (kind === "not") {
      this.one(command.body, state, true);
      state.status = state.status === 0 ? 1 : 0;
      return;
    }
    if (kind === "if") {
      this.one(command.test, state, true);
      const taken = state.status === 0 ? command.taken : command.otherwise;
      if (taken.length === 0) state.status = 0;
      this.all(taken, state, isTested);
      return;
    }
    if (kind === "group" && !command.isShell) {
      this.all(command.body, state, isTested);
      return;
    }
    this.simple(command, state, isTested);
    if (state.status !== 0 && this.stops && !isTested) throw STOPPED;
  }

  simple(command: Command, state: State, isTested: boolean): void {
    if (command.kind === "group") {
      const inner: State = {
        values: this.isShared ? state.values : new Map(state.values),
        status: state.status,
        out: state.out,
        steps: 0,
      };
      try {
        this.all(command.body, inner, isTested);
      } catch (error) {
        if (error !== STOPPED) throw error;
      }
      state.steps += inner.steps;
      state.status = inner.status;
      return;
    }
    if (command.kind === "call") {
      this.all(at(this.functions, command.name), state, isTested);
      return;
    }
    if (command.kind === "echo") state.out.push(command.word);
    if (command.kind === "status") state.out.push(`st=${state.status}`);
    if (command.kind === "show") state.out.push(`${command.name}=${state.values.get(command.name) ?? ""}`);
    if (command.kind === "set") state.values.set(command.name, command.value);
    state.status = command.kind === "end" ? command.code : 0;
  }
}

function outputOf(run: Run, commands: readonly Command[]): { out: string[]; steps: number } {
  const state: State = { values: new Map(NAMES.map((name) => [name, 0])), status: 0, out: [], steps: 0 };
  try {
    run.all(commands, state, false);
  } catch (error) {
    if (error !== STOPPED) throw error;
  }
  return { out: state.out, steps: state.steps };
}

function make(rng: Rng, level: Level) {
  const [count, depth, functions, least, most] = at(SIZES, level - 1);
  let words = 0;
  const simple = (callable: number): Command => {
    const kind = rng.integer(callable > 0 ? 9 : 7);
    if (kind < 2) return { kind: "echo", word: `w${++words}` };
    if (kind === 2) return { kind: "show", name: rng.pick(NAMES) };
    if (kind === 3) return { kind: "set", name: rng.pick(NAMES), value: between(rng, 1, 9) };
    if (kind < 7) return { kind: "end", code: rng.pick([0, 1, 2, 3]) };
    return { kind: "call", name: rng.integer(callable) };
  };
  const draw = (left: number, callable: number): Command => {
    const kind = left === 0 ? 0 : rng.integer(8);
    if (kind <= 1) return rng.integer(6) === 0 ? { kind: "status" } : simple(callable);
    if (kind === 2) {
      const test: Command = rng.integer(3) === 0 ? { kind: "not", body: simple(callable) } : simple(callable);
      return {
        kind: "if",
        test,
        taken: list(left, callable, 2),
        otherwise: list(left, callable, 1).slice(rng.integer(2)),
      };
    }
    if (kind === 3) return { kind: "group", body: list(left, callable, 2), isShell: true };
    if (kind === 4) return { kind: "not", body: simple(callable) };
    const chain = range(between(rng, 2, 3)).map((): Command =>
      rng.integer(3) === 0 ? group(left, callable) : simple(callable),
    );
    return chain
      .slice(1)
      .reduce((one, right): Command => ({ kind: rng.pick(["and", "or"] as const), left: one, right }), at(chain, 0));
  };
  const group = (left: number, callable: number): Command => ({
    kind: "group",
    body: list(left, callable, 2),
    isShell: rng.integer(2) === 0,
  });
  const list = (left: number, callable: number, longest: number): Command[] =>
    range(between(rng, 1, longest)).map(() => draw(left - 1, callable));
  const bodies = range(functions).map((index) => range(between(rng, 2, 3)).map(() => draw(1, index)));
  const commands = range(count).map(() => draw(depth, functions));
  const stops = level >= 4 || (level === 3 && rng.integer(2) === 0);
  const { out, steps } = outputOf(new Run(bodies, stops), commands);
  const script = [
    ...(stops ? ["set -e"] : []),
    NAMES.map((name) => `${name}=0`).join(" "),
    ...bodies.map((body, index) => `f${index}() { ${body.map(textOf).join("; ")}; }`),
    ...commands.map(textOf),
  ];
  const plain = outputOf(new Run(bodies, !stops), commands).out;
  const shared = outputOf(new Run(bodies, stops, true), commands).out;
  const everything = script.join(" ").match(/(?<=echo )w\d+/gu) ?? [];
  if (out.length < 3 || steps < least || steps > most || everything.join() === out.join()) return null;
  if (stops && plain.join() === out.join()) return null;
  return { problem: { script }, items: out, misses: [plain, shared, everything, out.toReversed()], effort: steps };
}
