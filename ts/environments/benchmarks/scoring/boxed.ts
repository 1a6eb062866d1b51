/** The last \boxed of a reply, by the rule of the MATH paper's code (Hendrycks et al., 2021), which later graders copied. */

/**
 * Returns the content of the last box; null without one, or when it is not closed. A box without braces (`\boxed 5`) reaches to the next dollar sign.
 * `\fbox` counts as a box that has no content: the published code fails on it.
 */
export function lastBoxed(text: string): string | null {
  const bare = text.lastIndexOf("\\boxed ");
  if (bare >= 0) return text.slice(bare + "\\boxed ".length).split("$")[0] ?? "";
  const start = text.lastIndexOf("\\boxed");
  if (start < 0) return null;
  let open = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === "{") open += 1;
    if (text[at] !== "}") continue;
    open -= 1;
    if (open === 0) return text.startsWith("\\boxed{", start) ? text.slice(start + "\\boxed{".length, at) : null;
  }
  return null;
}
