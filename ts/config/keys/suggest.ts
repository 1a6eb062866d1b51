/** "Did you mean": the nearest of some names by edit distance. */

/** Longer than any name; distances of longer words would take too long to compute. */
const LONGEST_WORD = 128;

/** Edit distance in insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/**
 * The name nearest to `word` that may be meant, or null: at most a third of the letters (and at least two) may differ. Among
 * equally near names the one of the nearest length, then the first.
 */
export function nearest(word: string, names: Iterable<string>): string | null {
  if (word.length > LONGEST_WORD) return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const letters = editDistance(word.toLowerCase(), name.toLowerCase());
    const distance = letters + Math.min(0.9, Math.abs(word.length - name.length) / 100);
    if (distance < bestDistance && letters < Math.max(word.length, name.length)) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns the first of the least deep places with this last part. */
export function shallowest(places: readonly string[], last: string): string | undefined {
  const depth = (place: string): number => place.split(".").length;
  const found = places.filter((place) => place.split(".").at(-1) === last);
  return found.toSorted((a, b) => depth(a) - depth(b))[0];
}

/** `did you mean "x"?` or, when nothing is near, a list of all names. */
export function hint(word: string, names: readonly string[], what: string): string {
  const near = nearest(word, names);
  if (near !== null) return `did you mean "${near}"?`;
  if (names.length === 0) return `there are no ${what} here`;
  return `valid ${what} here: ${names.join(", ")}`;
}
