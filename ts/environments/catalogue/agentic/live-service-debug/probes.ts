/** Sequences of requests, run on a service over empty tables: what tells a repaired service from a faulty one. */
import { between } from "../../../../random/draws.ts";
import { createRng, type Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { Fault, type Program, Service, type Tables, type Value } from "./machine.ts";
import { DOMAINS, type Rules } from "./source.ts";

export interface Request {
  /** Minutes since the request before. */
  readonly after: number;
  readonly op: string;
  readonly key: string;
  readonly other: string;
  readonly amount: number;
  readonly id: string;
}

const LENGTH = 14;

/** A sequence that stays near the bounds of the rules. */
export function sequenceOf(rules: Rules, seed: number, keys: readonly string[], length = LENGTH): Request[] {
  const rng = createRng(seed);
  return range(length).map((index) => requestOf(rules, rng, { keys, index }));
}

export function requestOf(
  rules: Rules,
  rng: Rng,
  { keys, index }: { keys: readonly string[]; index: number },
): Request {
  const [show, add, take, move] = at(DOMAINS, rules.domain).ops;
  const op = index < 2 ? add : rng.pick([show, show, show, add, take, take, move, move, move]);
  const key = rng.pick(keys);
  // One in five has the id of an earlier one.
  const id = `r${rng.integer(5) === 0 ? rng.integer(index + 1) : index}`;
  return {
    after: rng.pick([0, 0, 0, 1, 1, 2, rules.keep, rules.delay]),
    op,
    key,
    other: rng.integer(6) === 0 ? key : rng.pick(keys),
    amount: amountOf(rules, rng, op === add),
    id,
  };
}

function amountOf({ limit, bonus, fee }: Rules, rng: Rng, adds: boolean): number {
  const bounds = [0, 1, ...(adds ? [limit, limit, limit + 1, limit - 1] : [])];
  const others = [
    ...(bonus === null ? [] : [bonus[0], bonus[0] - 1, bonus[0] + between(rng, 1, 20)]),
    ...(fee === null ? [] : [between(rng, 5, 60), Math.floor((100 * fee[1]) / fee[0])]),
  ];
  return rng.pick([...bounds, ...others, between(rng, 2, 30), between(rng, 2, 30), between(rng, 20, limit)]);
}

/** The answers of a service as texts; null where it does not start. */
export function answersOf(program: Program | null, sequence: readonly Request[]): string[] | null {
  if (program === null) return null;
  let minute = 0;
  const tables: Tables = new Map();
  const service = started(program, tables, () => minute);
  if (typeof service === "string") return null;
  return sequence.map(({ after, op, key, other, amount, id }) => {
    for (let left = after; left > 0; left--) {
      minute += 1;
      answerOf(() => service.call("work", []));
    }
    return answerOf(() => service.call("handle", [op, key, other, amount, id]));
  });
}

/** The service, or why it does not start. */
export function started(program: Program, tables: Tables, minute: () => number): Service | string {
  try {
    return new Service(program, tables, minute);
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** The answer as text; a request that fails gets one, too. */
export function answerOf(run: () => Value): string {
  try {
    return JSON.stringify(run());
  } catch (error) {
    if (error instanceof Fault) return `error 500: ${error.message}`;
    throw error;
  }
}

export function isFailure(answer: string): boolean {
  return answer.startsWith("error 500");
}
