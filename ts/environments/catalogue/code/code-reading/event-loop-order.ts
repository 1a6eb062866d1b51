/**
 * event-loop-order: the order in which a JavaScript program logs through callbacks, promises, await and timers.
 *
 * The model has one queue of microtasks, which is emptied after each task, and one of timers with equal delays. A promise runs its reactions as
 * microtasks; `await` of a promise continues as one reaction of it.
 */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Step =
  | { do: "log"; mark: string }
  | { do: "micro" | "timer" | "executor"; body: Step[] }
  | { do: "chain"; bodies: Step[][] }
  /** An async function is called and not awaited. */
  | { do: "call"; name: number }
  /** Only in async functions. */
  | { do: "await"; name: number | null };

interface Problem {
  functions: Step[][];
  main: Step[];
}

/** By level: least and most logs, async functions, depth of callbacks. */
const SIZES = [
  [4, 5, 0, 1],
  [8, 10, 1, 1],
  [11, 13, 1, 2],
  [14, 16, 2, 2],
  [17, 22, 2, 3],
] as const;
const MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const MOST_LOGS = 26;
const TRIES = 200;

export const eventLoopOrder = itemRow<Problem>({
  id: "event-loop-order",
  asks: "the order of logs of a JavaScript program with promises, await and timers",
  form: "list",
  tries: TRIES,
  make: draw,
  prompts: [
    (one) =>
      `In which order are the letters logged when Node runs this module?\n\n${eventLoopSource(one)}\n\nList the letters in the order of their appearance, with commas between.`,
    (one) =>
      `Simulate the event loop (call stack, microtasks, timers) for\n\n${eventLoopSource(one)}\n\nand give the complete log as a comma-separated sequence. A letter that is logged several times stands several times.`,
    (one) =>
      `${eventLoopSource(one)}\n\nPredict the console output of this JavaScript file, first to last. Write it on one line: letters, commas between them.`,
    (one) =>
      `A developer is surprised by the order of the messages of this program:\n\n${eventLoopSource(one)}\n\nState the order that the specification of promises and Node's timers guarantee. The answer is the list of letters, separated by commas.`,
  ],
});

export function eventLoopSource({ functions, main }: Problem): string {
  const defined = functions.map((body, index) => `async function f${index + 1}() {\n${blockText(body, 1)}\n}`);
  return [...defined, blockText(main, 0)].join("\n");
}

function blockText(steps: readonly Step[], depth: number): string {
  const pad = "  ".repeat(depth);
  const inner = (body: readonly Step[]): string => `{\n${blockText(body, depth + 1)}\n${pad}}`;
  return steps
    .map((step) => {
      switch (step.do) {
        case "log":
          return `${pad}console.log("${step.mark}");`;
        case "micro":
          return `${pad}queueMicrotask(() => ${inner(step.body)});`;
        case "timer":
          return `${pad}setTimeout(() => ${inner(step.body)}, 0);`;
        case "executor":
          return `${pad}new Promise((resolve) => {\n${blockText(step.body, depth + 1)}\n${pad}  resolve();\n${pad}});`;
        case "chain":
          return `${pad}Promise.resolve()${step.bodies.map((body) => `.then(() => ${inner(body)})`).join("")};`;
        case "call":
          return `${pad}f${step.name + 1}();`;
        case "await":
          return `${pad}await ${step.name === null ? "null" : `f${step.name + 1}()`};`;
      }
    })
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [least, most, count, depth] = at(SIZES, level - 1);
  let used = 0;
  const log = (): Step => ({ do: "log", mark: MARKS.charAt(used++ % MARKS.length) });
  const block = (left: number, callable: number, isAsync: boolean): Step[] => {
    const steps: Step[] = [log()];
    for (const _ of range(between(rng, 1, left > 0 ? 3 : 1))) {
      const kind = rng.integer(isAsync ? 9 : 7);
      if (left > 0 && kind === 0) steps.push({ do: "micro", body: block(left - 1, callable, false) });
      else if (left > 0 && kind === 1) steps.push({ do: "timer", body: block(left - 1, callable, false) });
      else if (left > 0 && kind === 2) steps.push({ do: "executor", body: block(0, callable, false) });
      else if (left > 0 && kind <= 4)
        steps.push({
          do: "chain",
          bodies: range(between(rng, 1, 3)).map(() => block(left - 1, callable, false).slice(0, 2)),
        });
      else if (callable > 0 && kind === 5 && rng.integer(2) === 0)
        steps.push({ do: "call", name: rng.integer(callable) });
      else if (isAsync && kind >= 7)
        steps.push({ do: "await", name: callable > 0 && rng.integer(2) === 0 ? rng.integer(callable) : null }, log());
    }
    return steps;
  };
  // A function calls only those before it, so nothing runs without end.
  const functions = range(count).map((index): Step[] => {
    const body = block(depth - 1, index, true);
    return body.some((step) => step.do === "await") ? body : [...body, { do: "await", name: null }, log()];
  });
  const main = [
    ...block(depth, count, false),
    ...block(depth, count, false),
    ...(count > 0 ? [{ do: "call" as const, name: count - 1 }] : []),
    log(),
  ];
  const problem = { functions, main };
  const order = logsOf(problem);
  if (order === null || order.length < least || order.length > most) return null;
  const flat = sourceOrder(problem);
  const timersFirst = logsOf(problem, true) ?? flat;
  const withoutWaits =
    logsOf({ functions: functions.map((body) => body.filter((step) => step.do !== "await")), main }) ?? flat;
  // The order of the source must be wrong.
  if (flat.join() === order.join()) return null;
  const switches = order.filter((mark, index) => index > 0 && mark < at(order, index - 1)).length;
  if (switches < (level < 3 ? 1 : 2)) return null;
  return {
    problem,
    items: order,
    misses: [flat, timersFirst, withoutWaits, order.toReversed()],
    effort: order.length * 3 + switches,
  };
}

interface Deferred {
  isResolved: boolean;
  reactions: (() => void)[];
}

/** Null where the program logs too much. `timersFirst`: what who takes timers for microtasks expects. */
function logsOf({ functions, main }: Problem, timersFirst = false): string[] | null {
  const logs: string[] = [];
  const micro: (() => void)[] = [];
  const timers: (() => void)[] = [];
  const resolve = (promise: Deferred): void => {
    promise.isResolved = true;
    micro.push(...promise.reactions);
  };
  const after = (promise: Deferred, reaction: () => void): void => {
    (promise.isResolved ? micro : promise.reactions).push(reaction);
  };
  const resolved = (): Deferred => ({ isResolved: true, reactions: [] });
  const call = (index: number): Deferred => {
    const promise: Deferred = { isResolved: false, reactions: [] };
    const body = at(functions, index);
    const from = (place: number): void => {
      for (let next = place; next < body.length; next++) {
        const step = at(body, next);
        if (step.do === "await") {
          after(step.name === null ? resolved() : call(step.name), () => from(next + 1));
          return;
        }
        run([step]);
      }
      resolve(promise);
    };
    from(0);
    return promise;
  };
  const run = (steps: readonly Step[]): void => {
    for (const step of steps) {
      if (step.do === "log") logs.push(step.mark);
      else if (step.do === "micro") micro.push(() => run(step.body));
      else if (step.do === "timer") (timersFirst ? micro : timers).push(() => run(step.body));
      else if (step.do === "executor") run(step.body);
      else if (step.do === "call") call(step.name);
      else if (step.do === "chain") chain(step.bodies, resolved());
    }
  };
  const chain = (bodies: readonly Step[][], start: Deferred): void => {
    let last = start;
    for (const body of bodies) {
      const next: Deferred = { isResolved: false, reactions: [] };
      after(last, () => {
        run(body);
        resolve(next);
      });
      last = next;
    }
  };
  run(main);
  for (;;) {
    const task = micro.shift() ?? timers.shift();
    if (task === undefined) return logs;
    if (logs.length > MOST_LOGS) return null;
    task();
  }
}

function sourceOrder({ functions, main }: Problem): string[] {
  const marks = (steps: readonly Step[]): string[] =>
    steps.flatMap((step) => {
      if (step.do === "log") return [step.mark];
      if ("body" in step) return marks(step.body);
      if ("bodies" in step) return step.bodies.flatMap(marks);
      return step.name === null ? [] : marks(at(functions, step.name));
    });
  return marks(main);
}
