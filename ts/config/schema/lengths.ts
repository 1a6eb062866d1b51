/** Checks that completions fit into the sequences of a run, and the sequences into the engine. */
import type { Problem } from "./problem.ts";

interface Sampled {
  readonly sampling: { readonly max_completion_tokens: number | null };
}

/** Problems of completions, in the block at `at`, that leave no room for a prompt. */
export function lengthProblems(
  at: readonly string[],
  block: (Sampled & { readonly source?: readonly (Sampled | object)[] }) | null,
  seqLen: number,
): Problem[] {
  if (block === null) return [];
  const found: Problem[] = [];
  const check = (path: (string | number)[], { sampling }: Sampled): void => {
    const most = sampling.max_completion_tokens;
    if (most === null || most < seqLen) return;
    const message = `${most} leaves no room for a prompt: seq_len, prompt and completion together, is ${seqLen}`;
    found.push({ path: [...path, "sampling", "max_completion_tokens"], message });
  };
  check([...at], block);
  (block.source ?? []).forEach((source, index) => {
    if ("sampling" in source) check([...at, "source", index], source);
  });
  return found;
}
