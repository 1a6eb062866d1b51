/** Bad words as the token sequences that vLLM makes of them: at the beginning of a text, and after a space. */
import type { Tokenizer } from "../../renderers/index.ts";
import { badRequest } from "../errors.ts";

/**
 * Each word without and with a space before it. The second form counts only when it begins with another token and has as many, so that it
 * is the same word and not a space with the word. Errors: PRL_INFERENCE_REQUEST for a word without tokens.
 */
export async function badWordTokens(
  tokenizer: Pick<Tokenizer, "encodeAsync">,
  words: readonly string[],
): Promise<Uint32Array[]> {
  const forms = await Promise.all(
    words.map(async (word) => {
      const bare = word.trimStart();
      const encode = (text: string) => tokenizer.encodeAsync(text, { addSpecialTokens: false });
      const [plain, spaced] = await Promise.all([encode(bare), encode(` ${bare}`)]);
      if (plain.length === 0) throw badRequest("bad_words", `${JSON.stringify(word)} has no tokens`);
      return spaced.length === plain.length && spaced[0] !== plain[0] ? [plain, spaced] : [plain];
    }),
  );
  return forms.flat();
}
