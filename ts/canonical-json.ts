/** JSON with the keys of every object sorted and undefined values left out, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text ?? "null";
}
