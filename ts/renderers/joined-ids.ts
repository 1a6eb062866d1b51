/** Token ids one after the other. Spreading them into a call, as `Uint32Array.of(...ids)` does, ends at some 100,000 ids in a RangeError. */
export function joinedIds(...parts: readonly Uint32Array[]): Uint32Array {
  const [only, ...others] = parts.filter(({ length }) => length > 0);
  if (only !== undefined && others.length === 0) return only;
  const joined = new Uint32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
