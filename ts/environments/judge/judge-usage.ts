/** The cost of one rollout's judge, as metrics of the rollout. */
import type { Reply } from "../rollout/reply-client.ts";

export class JudgeUsage {
  /** Verdicts that were remembered. */
  remembered = 0;
  /** Answers that held no verdict. */
  withoutVerdict = 0;
  #calls = 0;
  #errors = 0;
  #seconds = 0;
  #promptTokens = 0;
  #completionTokens = 0;

  /** One call to the judge's endpoint, with its own retries. */
  async call(ask: () => Promise<Reply>): Promise<Reply> {
    const begun = performance.now();
    this.#calls += 1;
    try {
      const reply = await ask();
      this.#promptTokens += reply.usage?.promptTokens ?? 0;
      this.#completionTokens += reply.usage?.completionTokens ?? 0;
      return reply;
    } catch (error) {
      this.#errors += 1;
      throw error;
    } finally {
      this.#seconds += (performance.now() - begun) / 1000;
    }
  }

  /** `judge/calls` and so on; empty where the judge was not asked. `judge/seconds` adds up calls at the same time. */
  get metrics(): Readonly<Record<string, number>> {
    return this.#named("judge");
  }

  /** The same for the rewards of a group; each of its traces has them: `group_judge/calls` and so on. */
  get groupMetrics(): Readonly<Record<string, number>> {
    return this.#named("group_judge");
  }

  #named(prefix: string): Readonly<Record<string, number>> {
    if (this.#calls + this.remembered === 0) return {};
    return {
      [`${prefix}/calls`]: this.#calls,
      [`${prefix}/remembered`]: this.remembered,
      [`${prefix}/without_verdict`]: this.withoutVerdict,
      [`${prefix}/errors`]: this.#errors,
      [`${prefix}/seconds`]: this.#seconds,
      [`${prefix}/prompt_tokens`]: this.#promptTokens,
      [`${prefix}/completion_tokens`]: this.#completionTokens,
    };
  }
}
