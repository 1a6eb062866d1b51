/**
 * An engine that stops in the middle of a turn and stays there until the request is cut: what it has said by then is the real engine's, and
 * no load on the machine decides where it is.
 */
import type { GenerateIncrement, GenerateRequest, Model } from "../../../ts/native/index.ts";

export class HeldTurn {
  #next: { turn: number; tokens: number; reached: () => void } | null = null;

  /** The `turn`-th request from here on (1 is the next) stops behind `tokens` tokens; resolves when it is there. */
  holdAt(turn: number, tokens: number): Promise<void> {
    return new Promise((reached) => (this.#next = { turn, tokens, reached }));
  }

  /** The model, held where it was asked for. */
  over(model: Model): Model {
    return {
      ...model,
      generate: (requests, options = {}) => {
        const next = this.#next;
        if (next === null || --next.turn > 0) return model.generate(requests, options);
        this.#next = null;
        return held(model, requests, options.signal, next);
      },
    };
  }
}

async function* held(
  model: Model,
  requests: GenerateRequest[],
  signal: AbortSignal | undefined,
  { tokens, reached }: { tokens: number; reached: () => void },
): AsyncGenerator<GenerateIncrement> {
  const shortened = requests.map((request) => ({ ...request, maxTokens: tokens }));
  for await (const increment of model.generate(shortened)) {
    if (increment.finishReason !== "length") {
      yield increment;
      continue;
    }
    reached();
    if (signal?.aborted === false) await new Promise((cut) => signal.addEventListener("abort", cut, { once: true }));
    yield { ...increment, finishReason: "abort" };
  }
}
