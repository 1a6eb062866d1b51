/** Matching braces. */

/** Index behind the brace that closes the one at `start`; null when it is never closed. Escaped braces do not count. */
export function balancedEnd(text: string, start: number): number | null {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (sign === "\\") at++;
    else if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return at + 1;
  }
  return null;
}
