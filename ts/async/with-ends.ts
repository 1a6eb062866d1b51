/** The end of work that holds resources: each is given back, and the first failure is the one that is reported. */

/**
 * Does the work and then calls each of `ends`, in their order, also after a failure.
 *
 * @throws what the work threw; when it succeeded, the first error of the ends
 */
export async function withEnds<T>(work: () => Promise<T>, ends: readonly (() => Promise<unknown>)[]): Promise<T> {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  const result = await work().then((value) => ({ value }), note);
  for (const end of ends) await end().catch(note);
  if (result === undefined || failures.length > 0) throw failures[0];
  return result.value;
}
