/**
 * Verdicts of a model about replies, for rewards: whether a reply equals a reference answer, or its score by a rubric.
 *
 * A verdict is one of the given choices, read strictly; an answer without one is asked for again, and is then an error, never a
 * verdict. A verdict is remembered by the content of its question as long as the judge exists. This file knows no rewards.
 */
import { PrlError } from "../../errors.ts";
import { checkOptions, number, only, table } from "../../options.ts";
import { digest } from "../../native/index.ts";
import { type EndpointConfig, replyClientOf } from "../endpoint/endpoint-config.ts";
import { readReference, referencePrompt, type ReferenceQuestion } from "./judge-reference.ts";
import { JudgeUsage } from "./judge-usage.ts";
import { readVerdicts, rubricPrompt, rubricScore, type RubricCriterion, type RubricVerdict } from "./judge-rubric.ts";
import type { Message } from "../../message.ts";
import { partialSamplingSchema, type Sampling } from "../rollout/policy-client.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import { judgeChoice } from "../../verify/internal.ts";

export interface JudgeOptions {
  readonly endpoint: EndpointConfig | ReplyClient;
  /** How often an answer without a verdict is sampled again, then not greedily. Default 2. */
  readonly retries?: number;
  /** Verdicts that are remembered. Default 10000. */
  readonly cacheSize?: number;
  /** Sampling of the first answer to a question. Default: greedy, at most 4096 tokens. */
  readonly sampling?: Partial<Sampling>;
}

const optionsSchema = only<JudgeOptions>({
  endpoint: table,
  retries: number.optional(),
  cacheSize: number.optional(),
  sampling: partialSamplingSchema.optional(),
});

export interface RubricQuestion {
  /** A reply, or a whole conversation, to judge. */
  readonly response: string | readonly Message[];
  readonly criteria: readonly RubricCriterion[];
}

/** All methods reject with PRL_JUDGE_VERDICT when no answer holds a verdict, else with the endpoint's codes. */
export interface Judge {
  /** The judge's choice; `prompt` should say what the choices are and how the verdict is written. */
  choose(prompt: string, choices: readonly string[]): Promise<string>;
  /**
   * Resolves to the verdict that `read` finds in the answer to a prompt; null: the answer has no verdict. `kind` names the reading: one prompt may be read in several ways.
   */
  read<Verdict>(prompt: string, kind: string, read: (answer: string) => Verdict | null): Promise<Verdict>;
  /** Whether a reply says the same as the reference. An empty reply does not; the model is not asked then. */
  reference(question: ReferenceQuestion): Promise<boolean>;
  /** The weighted mean of the criteria in [0, 1], and that of each. PRL_ENVIRONMENT_FAILED for an invalid rubric. */
  rubric(question: RubricQuestion): Promise<{ score: number; criteria: Record<string, number> }>;
}

/** Gives rewards their judge. */
export interface JudgeSource {
  /** The judge for one reward: its questions end with `signal`, and their cost is added to `usage`. */
  within(signal: AbortSignal, usage?: JudgeUsage): Judge;
}

/** The judge's part of the context of rewards. */
export interface JudgeAccess {
  /** The environment's judge. PRL_ENVIRONMENT_INVALID when its definition names none. */
  readonly judge: Judge;
}

const RETRIES = 2;
const CACHE_SIZE = 10_000;
const GREEDY: Sampling = { temperature: 0, maxCompletionTokens: 4096, topP: 1, topK: -1 };
/** A greedy answer would only repeat itself. */
const RETRY_TEMPERATURE = 1;

/** The judge of a configured environment. */
export class EndpointJudge implements JudgeSource {
  readonly #client: ReplyClient;
  readonly #retries: number;
  readonly #cacheSize: number;
  readonly #sampling: Sampling;
  /** Answers by the digest of the question; the oldest first. */
  readonly #known = new Map<string, unknown>();

  constructor(options: JudgeOptions) {
    checkOptions("PRL_ENVIRONMENT_INVALID", "the judge", optionsSchema, options);
    const { endpoint, retries = RETRIES, cacheSize = CACHE_SIZE, sampling = {} } = options;
    this.#client = replyClientOf(endpoint);
    this.#retries = retries;
    this.#cacheSize = cacheSize;
    this.#sampling = { ...GREEDY, ...sampling };
  }

  within(signal: AbortSignal, usage = new JudgeUsage()): Judge {
    const ask = <Verdict>(prompt: string, key: unknown, read: (text: string) => Verdict | null): Promise<Verdict> =>
      this.#ask(prompt, key, read, { signal, usage });
    return {
      choose: (prompt, choices) => ask(prompt, choices, (text) => judgeChoice(text, choices)),
      read: ask,
      reference: async (question) =>
        question.response.trim() !== "" && (await ask(referencePrompt(question), "reference", readReference)),
      async rubric({ response, criteria }) {
        const prompt = rubricPrompt(response, criteria);
        const verdicts = await ask<RubricVerdict[]>(prompt, criteria, (text) => readVerdicts(text, criteria));
        return rubricScore(criteria, verdicts);
      },
    };
  }

  async #ask<Verdict>(
    prompt: string,
    key: unknown,
    read: (text: string) => Verdict | null,
    { signal, usage }: { signal: AbortSignal; usage: JudgeUsage },
  ): Promise<Verdict> {
    const id = digest(JSON.stringify([prompt, key]));
    // Only this prompt with these choices has this id, and its value came from the same kind of `read`.
    if (this.#known.has(id)) {
      usage.remembered += 1;
      return this.#known.get(id) as Verdict;
    }
    let last = "";
    for (let attempt = 0; attempt <= this.#retries; attempt++) {
      const temperature = attempt === 0 ? this.#sampling.temperature : RETRY_TEMPERATURE;
      const sampling = { ...this.#sampling, temperature };
      const messages: Message[] = [{ role: "user", content: prompt }];
      const { message } = await usage.call(() =>
        this.#client.reply({ prompt: messages, sampling, seed: attempt, signal }),
      );
      last = message.content;
      const verdict = read(last);
      if (verdict !== null) {
        this.#remember(id, verdict);
        return verdict;
      }
      usage.withoutVerdict += 1;
    }
    const shown = JSON.stringify(last.length > 200 ? `…${last.slice(-200)}` : last);
    throw new PrlError(
      "PRL_JUDGE_VERDICT",
      `none of ${this.#retries + 1} answers of the judge holds a verdict, the last: ${shown}`,
    );
  }

  #remember(id: string, verdict: unknown): void {
    this.#known.set(id, verdict);
    if (this.#known.size <= this.#cacheSize) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

function noJudge(): never {
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    "the environment has no judge: name one in its definition, `judge: ({ config }) => ...`",
  );
}

const NOBODY: Judge = {
  choose: async () => noJudge(),
  read: async () => noJudge(),
  reference: async () => noJudge(),
  rubric: async () => noJudge(),
};

/** Stands in when there is no judge; its methods throw an error that says so. */
export const NO_JUDGE: JudgeSource = { within: () => NOBODY };
