/** exception-paths: the output of nested functions with try, except, else, finally, raise, return and loops that end early. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

const ERRORS = ["KeyError", "IndexError", "ValueError", "LookupError", "ArithmeticError"] as const;
type Failure = (typeof ERRORS)[number];
/** KeyError and IndexError are LookupErrors. */
const LOOKUPS: readonly Failure[] = ["KeyError", "IndexError", "LookupError"];

interface Handler {
  /** Null: every exception. */
  failure: Failure | null;
  body: Part[];
}
type Part =
  | { do: "print"; text: string }
  | { do: "raise"; failure: Failure; when: number | null }
  | { do: "return"; value: number; when: number | null }
  | { do: "again" }
  | { do: "call"; name: number; by: number }
  | { do: "leave"; how: "break" | "continue"; when: number }
  | { do: "loop"; rounds: number; body: Part[] }
  | { do: "try"; body: Part[]; handlers: Handler[]; else: Part[]; finally: Part[] };

interface Problem {
  /** Each calls only functions before it; the last one is called with each argument. */
  functions: Part[][];
  calls: number[];
}

/** By level: functions, calls, depth of try, least and most lines. */
const SIZES = [
  [1, 2, 1, 4, 7],
  [1, 3, 1, 8, 12],
  [2, 3, 2, 13, 18],
  [2, 4, 2, 19, 26],
  [3, 4, 2, 27, 42],
] as const;
const TRIES = 300;
const MOST_LINES = 60;

export const exceptionPaths = itemRow<Problem>({
  id: "exception-paths",
  asks: "the output of functions with try, except, else, finally, raise and early returns",
  form: "lines",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `Follow the exceptions. Python's KeyError and IndexError are kinds of LookupError.\n\n${exceptionSource(one)}\n\nWhat is printed? Answer with all lines in order.`,
    (one) =>
      `${exceptionSource(one)}\n\nGive the exact output of this Python 3 program (a return inside finally replaces whatever was on its way). One printed line per line of the answer.`,
    (one) =>
      `A code review turned up this control flow:\n\n${exceptionSource(one)}\n\nReviewers disagree about what it writes. Settle it: list the written lines from first to last, without leaving any out. Handlers are tried from top to bottom, and KeyError and IndexError derive from LookupError.`,
    (one) =>
      `Determine which blocks run and state the resulting lines on standard output, one below the other:\n\n${exceptionSource(one)}`,
  ],
});

export function exceptionSource({ functions, calls }: Problem): string {
  const defined = functions.map((body, index) => `def f${index + 1}(x):\n${partsText(body, 1)}\n    return 0\n`);
  const last = `f${functions.length}`;
  const tried = [
    "    try:",
    `        print("got", ${last}(x))`,
    "    except Exception as error:",
    '        print("lost", type(error).__name__)',
  ];
  return [...defined, `for x in [${calls.join(", ")}]:`, ...tried].join("\n");
}

function partsText(parts: readonly Part[], depth: number): string {
  const pad = "    ".repeat(depth);
  const inner = (body: readonly Part[]): string => partsText(body, depth + 1);
  const guarded = (when: number | null, text: string): string =>
    when === null ? `${pad}${text}` : `${pad}if x % 3 == ${when}:\n${pad}    ${text}`;
  return parts
    .map((part) => {
      switch (part.do) {
        case "print":
          return `${pad}print("${part.text}", x)`;
        case "raise":
          return guarded(part.when, `raise ${part.failure}`);
        case "return":
          return guarded(part.when, `return ${part.value}`);
        case "again":
          return `${pad}raise`;
        case "call":
          return `${pad}print(f${part.name + 1}(x + ${part.by}))`;
        case "leave":
          return `${pad}if (x + i) % 3 == ${part.when}:\n${pad}    ${part.how}`;
        case "loop":
          return `${pad}for i in range(${part.rounds}):\n${inner(part.body)}`;
        case "try": {
          const handlers = part.handlers.map(
            ({ failure, body }) => `${pad}except${failure === null ? "" : ` ${failure}`}:\n${inner(body)}`,
          );
          const rest = part.else.length === 0 ? [] : [`${pad}else:\n${inner(part.else)}`];
          const last = part.finally.length === 0 ? [] : [`${pad}finally:\n${inner(part.finally)}`];
          return [`${pad}try:\n${inner(part.body)}`, ...handlers, ...rest, ...last].join("\n");
        }
      }
    })
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, callCount, depth, least, most] = at(SIZES, level - 1);
  const when = (): number | null => (rng.integer(4) === 0 ? null : rng.integer(3));
  const print = (): Part => ({ do: "print", text: `${rng.pick("pqrstuvw")}${between(rng, 1, 9)}` });
  const jump = (isLoop: boolean): Part => {
    if (isLoop && rng.integer(2) === 0)
      return { do: "leave", how: rng.pick(["break", "continue"] as const), when: rng.integer(3) };
    return rng.integer(3) === 0
      ? { do: "return", value: between(rng, 10, 99), when: when() }
      : { do: "raise", failure: rng.pick(ERRORS), when: when() };
  };
  const attempt = (left: number, index: number, isLoop: boolean): Part => {
    const [first = null, second = null] = sample([...ERRORS, null], 2, rng);
    const failures = [first, second];
    const handlers = failures.slice(0, between(rng, 1, 2)).map((failure): Handler => ({
      failure,
      body: [
        print(),
        ...(rng.integer(4) === 0 ? [{ do: "again" as const }] : []),
        ...(rng.integer(4) === 0 ? [jump(isLoop)] : []),
      ],
    }));
    // A bare except must be the last one.
    const ordered = handlers.filter((one, place) => one.failure !== null || place === handlers.length - 1);
    return {
      do: "try",
      body: [print(), ...inside(left - 1, index, isLoop), jump(isLoop)],
      handlers: ordered,
      else: rng.integer(2) === 0 ? [print()] : [],
      finally:
        rng.integer(3) > 0
          ? [
              print(),
              ...(rng.integer(6) === 0 ? [{ do: "return" as const, value: between(rng, 100, 199), when: when() }] : []),
            ]
          : [],
    };
  };
  const inside = (left: number, index: number, isLoop: boolean): Part[] => {
    const kind = rng.integer(4);
    if (kind === 0 && left > 0) return [attempt(left, index, isLoop)];
    if (kind === 1 && index > 0) return [{ do: "call", name: rng.integer(index), by: between(rng, 1, 4) }];
    return kind === 2 && !isLoop && left > 0
      ? [{ do: "loop", rounds: between(rng, 2, 3), body: [attempt(left, index, true), print()] }]
      : [jump(isLoop)];
  };
  const functions = range(count).map((index): Part[] => [
    attempt(depth, index, false),
    print(),
    ...inside(depth, index, false),
  ]);
  const start = between(rng, 0, 20);
  const problem = { functions, calls: range(callCount).map((index) => start + index * between(rng, 1, 2)) };
  const items = linesOf(problem, "python");
  if (items === null || items.length < least || items.length > most) return null;
  const misses = (["without finally", "without lookup"] as const).map((how) => linesOf(problem, how) ?? []);
  misses.push(
    items.filter((line) => !line.startsWith("lost")),
    items.toReversed(),
  );
  if (items.filter((line) => /^(?:got|lost)/u.test(line)).every((line, _, all) => line === all[0])) return null;
  return { problem, items, misses, effort: items.length };
}

/** How a block ends. */
type End =
  | { kind: "next" | "break" | "continue" }
  | { kind: "return"; value: number }
  | { kind: "raise"; failure: Failure };

/** The printed lines; null where there are too many. The other readings make usual mistakes. */
function linesOf(
  { functions, calls }: Problem,
  reading: "python" | "without finally" | "without lookup",
): string[] | null {
  const lines: string[] = [];
  const catches = (handler: Handler, failure: Failure): boolean =>
    handler.failure === null ||
    handler.failure === failure ||
    (reading !== "without lookup" && handler.failure === "LookupError" && LOOKUPS.includes(failure));
  const holds = (when: number | null, x: number): boolean => when === null || x % 3 === when;
  const block = (parts: readonly Part[], x: number, i: number, caught: Failure | null): End => {
    for (const part of parts) {
      const end = run(part, x, i, caught);
      if (end.kind !== "next") return end;
    }
    return { kind: "next" };
  };
  const run = (part: Part, x: number, i: number, caught: Failure | null): End => {
    switch (part.do) {
      case "print":
        lines.push(`${part.text} ${x}`);
        return { kind: "next" };
      case "raise":
        return holds(part.when, x) ? { kind: "raise", failure: part.failure } : { kind: "next" };
      case "return":
        return holds(part.when, x) ? { kind: "return", value: part.value } : { kind: "next" };
      case "again":
        return caught === null ? { kind: "next" } : { kind: "raise", failure: caught };
      case "leave":
        return (x + i) % 3 === part.when ? { kind: part.how } : { kind: "next" };
      case "call": {
        const end = call(part.name, x + part.by);
        if (end.kind === "raise") return end;
        lines.push(String(end.value));
        return { kind: "next" };
      }
      case "loop":
        for (const round of range(part.rounds)) {
          const end = block(part.body, x, round, caught);
          if (end.kind === "break") break;
          if (end.kind === "return" || end.kind === "raise") return end;
        }
        return { kind: "next" };
      case "try": {
        let end = block(part.body, x, i, caught);
        if (end.kind === "next") end = block(part.else, x, i, caught);
        else if (end.kind === "raise") {
          const { failure } = end;
          const handler = part.handlers.find((one) => catches(one, failure));
          if (handler !== undefined) end = block(handler.body, x, i, failure);
        }
        if (reading === "without finally" && end.kind !== "next") return end;
        const last = block(part.finally, x, i, caught);
        return last.kind === "next" ? end : last;
      }
    }
  };
  const call = (index: number, x: number): Extract<End, { kind: "return" | "raise" }> => {
    if (lines.length > MOST_LINES) return { kind: "return", value: 0 };
    const end = block(at(functions, index), x, 0, null);
    return end.kind === "raise" || end.kind === "return" ? end : { kind: "return", value: 0 };
  };
  for (const x of calls) {
    const end = call(functions.length - 1, x);
    lines.push(end.kind === "raise" ? `lost ${end.failure}` : `got ${end.value}`);
  }
  return lines.length > MOST_LINES ? null : lines;
}
