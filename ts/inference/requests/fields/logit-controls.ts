/** The fields of a request that change logits: penalties, biases, allowed tokens and bad words, with vLLM's ranges. */
import { badRequest } from "../../errors.ts";
import { type Fields, isAbsent, isTokenId, number, object, shown } from "./checks.ts";

export const LOGIT_FIELDS = [
  "repetition_penalty",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "allowed_token_ids",
  "bad_words",
] as const;

export interface LogitControls {
  repetitionPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  logitBias: Map<number, number>;
  /** Null allows every token. */
  allowedTokenIds: number[] | null;
  /** As text: the tokenizer makes token sequences of them. */
  badWords: string[];
}

/** Most entries of `logit_bias`, and most bad words; the engine's limits. */
const MAX_BIASES = 1024;
const MAX_BAD_WORDS = 128;
const MAX_PENALTY = 2;

/** Errors: PRL_INFERENCE_REQUEST naming the field. */
export function logitControls(params: Fields, vocabSize: number): LogitControls {
  const penalty = (name: string): number =>
    number(params[name], `sampling_params.${name}`, 0, { least: -MAX_PENALTY, most: MAX_PENALTY });
  return {
    repetitionPenalty: repetitionPenalty(params["repetition_penalty"]),
    frequencyPenalty: penalty("frequency_penalty"),
    presencePenalty: penalty("presence_penalty"),
    logitBias: logitBias(params["logit_bias"], vocabSize),
    allowedTokenIds: allowedTokenIds(params["allowed_token_ids"], vocabSize),
    badWords: badWords(params["bad_words"]),
  };
}

function repetitionPenalty(value: unknown): number {
  const field = "sampling_params.repetition_penalty";
  const penalty = number(value, field, 1, { least: 0, most: Number.MAX_VALUE });
  if (Math.fround(penalty) > 0 && Number.isFinite(Math.fround(penalty))) return penalty;
  throw badRequest(field, `must be above 0 and finite in 32 bits, got ${penalty}`);
}

/** JSON has only strings as keys. */
function logitBias(value: unknown, vocabSize: number): Map<number, number> {
  const field = "sampling_params.logit_bias";
  const entries = Object.entries(isAbsent(value) ? {} : object(value, field));
  if (entries.length > MAX_BIASES) throw badRequest(field, `has ${entries.length} entries; at most ${MAX_BIASES}`);
  return new Map(
    entries.map(([key, bias]): [number, number] => {
      const id = /^\d+$/u.test(key) ? Number(key) : -1;
      if (!isTokenId(id, vocabSize)) {
        throw badRequest(field, `its keys must be token ids from 0 to ${vocabSize - 1}, got ${shown(key)}`);
      }
      const most = 3e38;
      if (typeof bias === "number" && Math.abs(bias) < most) return [id, bias];
      throw badRequest(field, `the bias of ${key} must be a number, got ${shown(bias)}`);
    }),
  );
}

function allowedTokenIds(value: unknown, vocabSize: number): number[] | null {
  const field = "sampling_params.allowed_token_ids";
  if (isAbsent(value)) return null;
  if (!Array.isArray(value) || value.length === 0) throw badRequest(field, "must be a non-empty list of token ids");
  if (value.length > vocabSize) throw badRequest(field, `has ${value.length} ids; the vocabulary has ${vocabSize}`);
  return value.map((id: unknown, index) => {
    if (isTokenId(id, vocabSize)) return id;
    throw badRequest(`${field}[${index}]`, `must be an integer from 0 to ${vocabSize - 1}, got ${shown(id)}`);
  });
}

function badWords(value: unknown): string[] {
  const field = "sampling_params.bad_words";
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw badRequest(field, "must be a list of words");
  if (value.length > MAX_BAD_WORDS) throw badRequest(field, `has ${value.length} words; at most ${MAX_BAD_WORDS}`);
  const words = value.map((word: unknown, index) => {
    if (typeof word === "string" && word !== "") return word;
    throw badRequest(`${field}[${index}]`, `must be a non-empty string, got ${shown(word)}`);
  });
  return [...new Set(words)];
}
