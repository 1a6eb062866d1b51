/**
 * Limits of a rollout. A rollout stops at a limit under a name: the stop is scored and is not an error.
 *
 * Turns and tokens are counted for each agent when a model call has ended and checked before the next one, so the tokens of one call, and calls
 * that an agent makes at the same time, may exceed them; the time is that of the whole rollout. This file knows no rollout.
 */
import { PrlError } from "../../errors.ts";
import type { Trace } from "../episode/trace.ts";

export interface Limits {
  /** Most model calls; then it stops as `max_turns`. */
  readonly turns?: number;
  /** Most sampled tokens in all; then it stops as `max_output_tokens`. */
  readonly outputTokens?: number;
  /**
   * Most tokens of one prompt; a longer one is not sent, and it stops as `max_prompt_tokens`. Behind an endpoint only the tokens that the
   * endpoint counted up to the last reply are known, for a prompt that continues from it.
   */
  readonly promptTokens?: number;
  /** Most milliseconds of the rollout, without its rewards; then it stops as `max_time`. */
  readonly timeMs?: number;
}

/** Thrown anywhere in a rollout (a tool, a user, an agent's turn), it ends the rollout under a name. */
export class RolloutStop extends Error {
  override readonly name = "RolloutStop";
  readonly stopCondition: string;

  constructor(stopCondition: string) {
    super(`the rollout stopped: ${stopCondition}`);
    this.stopCondition = stopCondition;
  }
}

const KEYS: readonly (keyof Limits)[] = ["turns", "outputTokens", "promptTokens", "timeMs"];

/** Throws PRL_ENVIRONMENT_INVALID for an invalid limit. */
export function checkLimits(environment: string, limits: Limits): Limits {
  for (const [key, value] of Object.entries(limits)) {
    const problem = !KEYS.some((known) => known === key)
      ? `has the limit "${key}", which is not known; there are ${KEYS.join(", ")}`
      : !(value > 0)
        ? `has the limit ${key} = ${String(value)}; a limit is a number above 0`
        : null;
    if (problem !== null) throw new PrlError("PRL_ENVIRONMENT_INVALID", `environment "${environment}" ${problem}`);
  }
  return limits;
}

/** Holds one agent's turns within the limits; `stop` is called with the thrown stop, to end the rollout's other work. */
export class TurnLimits {
  readonly #limits: Limits;
  readonly #stop: (stop: RolloutStop) => void;

  constructor(limits: Limits, stop: (stop: RolloutStop) => void) {
    this.#limits = limits;
    this.#stop = stop;
  }

  /** Checks the limits before a model call. Throws RolloutStop. */
  beforeTurn({ turns, completionTokens }: Pick<Trace, "turns" | "completionTokens">): void {
    if (turns >= (this.#limits.turns ?? Infinity)) this.#end("max_turns");
    if (completionTokens >= (this.#limits.outputTokens ?? Infinity)) this.#end("max_output_tokens");
  }

  /** Checks the tokens of the next prompt. Throws RolloutStop. */
  beforePrompt(tokens: number): void {
    if (tokens > (this.#limits.promptTokens ?? Infinity)) this.#end("max_prompt_tokens");
  }

  /**
   * Handles a refused model call. Where the policy has filled its context, its conversation ends here and is scored; a first prompt
   * that is too long is the task's error. It always throws.
   */
  refused(error: unknown, { turns }: Pick<Trace, "turns">): never {
    if (turns > 0 && error instanceof PrlError && error.code === "PRL_INFERENCE_CONTEXT") this.#end("prompt_too_long");
    throw error;
  }

  #end(name: string): never {
    const stop = new RolloutStop(name);
    this.#stop(stop);
    throw stop;
  }
}
