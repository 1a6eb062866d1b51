/** Joins a streamed completion: takes chunks of `POST /inference/v1/generate` and gives the whole answer. This file knows no HTTP. */

/** The part of the server's answer that is read; every field may be missing. */
export interface WireResponse {
  choices?: {
    token_ids?: number[];
    logprobs?: { content?: { logprob?: number }[] } | null;
    finish_reason?: string | null;
    stop_reason?: number | string | null;
    policy_versions?: [number, number][];
    /** Experts of the tokens (`ts/native/batches/routed-experts.ts`); a stream sends them with the last ones, for all. */
    routed_experts?: string | null;
    /** In vLLM: the weights that sampled `[start, end)` of `token_ids`, by their notes; a stream sends it with the last tokens, for all. */
    weight_versions?: { version: string; start: number; end: number }[] | null;
  }[];
  prompt_logprobs?: (Record<string, { logprob?: number }> | null)[] | null;
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  };
}

type Choice = NonNullable<WireResponse["choices"]>[number];

type Fields = Readonly<Record<string, unknown>>;

const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined;
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isPair = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "number");

/**
 * Whether the lists and objects that are read are such. The tokens and log-probabilities in them are not looked at: they are many, and the client checks
 * them where it takes them.
 */
export function isWireResponse(value: unknown): value is WireResponse {
  if (!isObject(value)) return false;
  const { choices, usage, prompt_logprobs: scores } = value;
  if (!isAbsent(usage) && !isObject(usage)) return false;
  if (!isAbsent(scores) && !Array.isArray(scores)) return false;
  return choices === undefined || (Array.isArray(choices) && choices.every(isChoice));
}

function isChoice(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  const {
    token_ids: ids,
    logprobs,
    policy_versions: versions,
    weight_versions: spans,
    routed_experts: experts,
  } = choice;
  return (
    (ids === undefined || Array.isArray(ids)) &&
    (isAbsent(logprobs) ||
      (isObject(logprobs) && (isAbsent(logprobs["content"]) || Array.isArray(logprobs["content"])))) &&
    (versions === undefined || (Array.isArray(versions) && versions.every(isPair))) &&
    (isAbsent(spans) || (Array.isArray(spans) && spans.every(isSpan))) &&
    (isAbsent(experts) || typeof experts === "string")
  );
}

function isSpan(span: unknown): boolean {
  return isObject(span) && typeof span["version"] === "string" && typeof span["start"] === "number";
}

export class CompletionChunks {
  readonly #tokenIds: number[] = [];
  readonly #logprobs: { logprob?: number }[] = [];
  readonly #policyVersions: [number, number][] = [];
  #end: Required<Pick<Choice, "finish_reason" | "stop_reason" | "weight_versions" | "routed_experts">> | null = null;
  #usage: WireResponse["usage"];

  /** The chunk's tokens. */
  push({ choices, usage }: WireResponse): readonly number[] {
    this.#usage = usage ?? this.#usage;
    const [choice] = choices ?? [];
    if (choice === undefined) return [];
    const { token_ids: ids = [], logprobs, policy_versions: versions = [], finish_reason, stop_reason = null } = choice;
    const { weight_versions = null, routed_experts = null } = choice;
    for (const [first, version] of versions) {
      const isNew = this.#policyVersions.at(-1)?.[1] !== version;
      if (isNew) this.#policyVersions.push([this.#tokenIds.length + first, version]);
    }
    this.#tokenIds.push(...ids);
    this.#logprobs.push(...(logprobs?.content ?? []));
    if (typeof finish_reason === "string") this.#end = { finish_reason, stop_reason, weight_versions, routed_experts };
    return ids;
  }

  /** The answer as without streaming; null before the end. */
  get whole(): WireResponse | null {
    if (this.#end === null) return null;
    const isKnown = this.#policyVersions.length > 0 || this.#tokenIds.length === 0;
    const choice = {
      ...this.#end,
      token_ids: this.#tokenIds,
      logprobs: { content: this.#logprobs },
      ...(isKnown && { policy_versions: this.#policyVersions }),
    };
    return { choices: [choice], ...(this.#usage !== undefined && { usage: this.#usage }) };
  }
}
