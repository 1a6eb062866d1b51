/**
 * Teachers of training sources: which one samples in place of the policy, its key, and whether it has the policy's tokenizer. With another
 * tokenizer its scores and its text are of other tokens.
 *
 * Both tokenize one text: words from all over the policy's vocabulary, special tokens among them, and some that most tokenizers cut
 * in different places. If all ids are equal, the vocabularies count as equal.
 */
import type { AlgoBlock, TeacherBlock } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Tokenizer } from "../../renderers/index.ts";
import { apiKeyFrom, type PromptScorer } from "../../inference-client/index.ts";

const WORDS = 256;
const HARD_TO_CUT = " 1234567  3.14\n\n\tI'll ROAD größer 東京 🙂\r\n";

/** The teacher that samples in place of the policy; null: the policy itself samples. */
export function samplingTeacher({ type, teacher }: AlgoBlock): TeacherBlock | null {
  return type === "sft" ? teacher : null;
}

/** The API key that a teacher's server requires. Errors: PRL_INFERENCE_AUTH when its variable is not set. */
export function teacherKey({ api_key_var: variable }: TeacherBlock): { apiKey?: string } {
  return apiKeyFrom(variable, "the teacher's key");
}

/** The text: about 256 tokens spread over the vocabulary, then the words that are cut in different places. */
export function probeText({ vocabSize, decode }: Pick<Tokenizer, "vocabSize" | "decode">): string {
  const length = Math.min(WORDS, vocabSize);
  const ids = Array.from({ length }, (_, i) => Math.floor((i * (vocabSize - 1)) / Math.max(1, length - 1)));
  return ids.map((id) => decode([id])).join("") + HARD_TO_CUT;
}

/** Errors: PRL_TEACHER_TOKENIZER, those of `PromptScorer.tokenize`. */
export async function assertSameTokenizer(
  teacher: Pick<PromptScorer, "url" | "tokenize">,
  tokenizer: Tokenizer,
  signal: AbortSignal,
): Promise<void> {
  const text = probeText(tokenizer);
  const own = tokenizer.encode(text);
  const its = await teacher.tokenize(text, signal);
  const at = own.findIndex((id, i) => id !== its[i]);
  if (at < 0 && own.length === its.length) return;
  const place =
    at < 0 ? `${own.length} tokens, it ${its.length}` : `token ${at} is ${own[at]}, its ${its[at] ?? "none"}`;
  const advice = "serve a teacher with the policy's tokenizer";
  throw new PrlError(
    "PRL_TEACHER_TOKENIZER",
    `${teacher.url} has another tokenizer than the policy (${place}): ${advice}`,
  );
}
