/** Where an integrand ends: the `dx` of an integral, in whatever pieces the tokens have it. */
import type { Token } from "./tokens.ts";
import { GREEK } from "../answer-text/vocabulary.ts";

/** dx at the end of a word, or d and a letter: what stands before it in the word, the variable, the tokens that it takes. */
export function differential(
  token: Token,
  next: Token | undefined,
): { before: string; variable: string; tokens: number } | null {
  if (token.type !== "word") return null;
  const [, before, letter] = /^(\p{L}*)d(\p{L})$/u.exec(token.text) ?? [];
  if (before !== undefined && letter !== undefined) return { before, variable: letter, tokens: 1 };
  if (!token.text.endsWith("d")) return null;
  const rest = token.text.slice(0, -1);
  if (next?.type === "command" && Object.hasOwn(GREEK, next.text))
    return { before: rest, variable: `\\${next.text}`, tokens: 2 };
  return next?.type === "word" && next.text.length === 1 ? { before: rest, variable: next.text, tokens: 2 } : null;
}
