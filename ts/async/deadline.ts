/**
 * Waiting for work no longer than until a time or an abort. The work itself goes on; what comes of it later is not used, and a late rejection
 * is not an unhandled one.
 */

/** Settles as `work` does, or rejects with what `late` gives after `ms`. */
export async function withDeadline<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Settles as `work` does, or resolves with `undefined` after `ms`. */
export async function atMost<Result>(work: Promise<Result>, ms: number): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Settles as `work` does, or rejects as soon as the signal is aborted: with its reason, made an error where it is none. A function is not
 * called where the signal is aborted already.
 */
export async function untilAborted<Result>(
  work: Promise<Result> | (() => Promise<Result>),
  signal: AbortSignal,
): Promise<Result> {
  if (typeof work === "function" && signal.aborted) throw asError(signal.reason);
  const begun = typeof work === "function" ? work() : work;
  let onAbort = (): void => undefined;
  try {
    return await new Promise<Result>((resolve, reject) => {
      onAbort = () => reject(asError(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
      begun.then(resolve, reject);
      if (signal.aborted) onAbort();
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
