/** A model that writes a given text in place of sampling: for what depends on what a reply says. */
import type { Model } from "../../../ts/native/index.ts";

const END_OF_TURN = 259;

export class ScriptedModel {
  /** Texts of the next completions, which are given once each; without one the model samples. */
  readonly next: string[] = [];
  /** Bytes in one increment. */
  step = 3;

  over(model: Model): Model {
    return new Proxy(model, {
      get: (target, key) => {
        if (key === "generate") return this.#generate(target);
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #generate(model: Model): Model["generate"] {
    return (requests, options) => {
      const text = this.next.shift();
      return text === undefined ? model.generate(requests, options) : this.#written(requests[0]?.id ?? "", text);
    };
  }

  async *#written(id: string, text: string): ReturnType<Model["generate"]> {
    const ids = [...Buffer.from(text), END_OF_TURN];
    for (let start = 0; start < ids.length; start += this.step) {
      const tokenIds = Uint32Array.from(ids.slice(start, start + this.step));
      const isLast = start + this.step >= ids.length;
      yield {
        id,
        tokenIds,
        logprobs: new Float32Array(tokenIds.length),
        policyVersions: start === 0 ? [[0, 0]] : [],
        finishReason: isLast ? "stop" : null,
        stopReason: isLast ? END_OF_TURN : null,
        cachedTokens: 0,
      };
    }
  }
}
