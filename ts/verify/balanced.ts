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

/** The same for all braces that open, in one pass: the index behind the brace that closes each; one that is never closed has none. */
export function balancedEnds(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === "\\") at++;
    else if (sign === "{") open.push(at);
    else if (sign === "}") {
      const start = open.pop();
      if (start !== undefined) ends.set(start, at + 1);
    }
  }
  return ends;
}
