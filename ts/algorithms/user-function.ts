/**
 * A custom function, given by path, that the orchestrator calls: advantages, filters.
 *
 * A call ends at its deadline wherever the function is, also in an endless loop: V8's watchdog stops it, and the function cannot
 * catch that. It runs in this process, so that it reads traces and tokens where they are. The caller checks what comes back.
 */
import { createContext, Script } from "node:vm";

import { withDeadline } from "../async/deadline.ts";
import { importUserModule } from "../config/index.ts";
import { messageOf, PrlError } from "../errors.ts";

/** Deadline of a call. The launcher counts a process as dead that stands still for 30 s. */
const DEADLINE_S = 20;
/** Deadline for loading the user's module. */
const LOAD_MS = 60_000;

const place: { call: () => void } = { call: () => undefined };
const context = createContext(place);
const script = new Script("call()");

export class UserFunction {
  readonly path: string;
  readonly #compute: (...args: never[]) => unknown;
  readonly #deadlineMs: number;

  constructor(path: string, compute: (...args: never[]) => unknown, deadlineS: number | null = null) {
    this.path = path;
    this.#compute = compute;
    this.#deadlineMs = Math.ceil((deadlineS ?? DEADLINE_S) * 1000);
  }

  /**
   * @param shape what the function should be, for the message when it is something else
   * @throws PrlError PRL_USER_MODULE; PRL_USER_DEADLINE when its module is not loaded in time
   */
  static async load(path: string, shape: string, deadlineS: number | null): Promise<UserFunction> {
    const advice = "mend what it waits for at its top level";
    const found = await withDeadline(importUserModule(path), LOAD_MS, () =>
      late({ path, what: "its module was not loaded", ms: LOAD_MS, advice }),
    );
    if (typeof found === "function") return new UserFunction(path, found as (...args: never[]) => unknown, deadlineS);
    throw new PrlError("PRL_USER_MODULE", `${path}: ${shape}`);
  }

  /**
   * Returns what the function returns for `args`.
   *
   * @param what the call is about, for messages
   * @throws PrlError PRL_USER_MODULE with what it threw as the cause; PRL_USER_DEADLINE
   */
  call(what: string, ...args: unknown[]): unknown {
    const ended: { result?: unknown; threw?: { cause: unknown } } = {};
    place.call = () => {
      try {
        ended.result = this.#compute(...(args as never[]));
      } catch (cause) {
        ended.threw = { cause };
      }
    };
    try {
      script.runInContext(context, { timeout: this.#deadlineMs });
    } catch (stopped) {
      // Errors of the function were caught above, so this one is the watchdog's.
      const advice = "mend what never ends in it, or raise its deadline_s";
      const whatIsLate = `${what}: it did not return`;
      throw late({ path: this.path, what: whatIsLate, ms: this.#deadlineMs, advice, cause: stopped });
    } finally {
      place.call = () => undefined;
    }
    if (ended.threw === undefined) return ended.result;
    const { cause } = ended.threw;
    const why = messageOf(cause);
    throw new PrlError("PRL_USER_MODULE", `${this.path}: ${what}: the function threw: ${why}`, { cause });
  }
}

interface Lateness {
  path: string;
  what: string;
  ms: number;
  advice: string;
  cause?: unknown;
}

function late({ path, what, ms, advice, cause }: Lateness): PrlError {
  return new PrlError("PRL_USER_DEADLINE", `${path}: ${what} within ${ms / 1000} s: ${advice}`, { cause });
}
