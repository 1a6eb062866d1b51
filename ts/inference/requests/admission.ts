/** Bounds the samples that the server holds, running and waiting together: what comes beyond is refused at once. */
import { PrlError } from "../../errors.ts";

export class Admission {
  readonly #most: number;
  #held = 0;

  /** `most` samples are held at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `work`, which takes `samples` places until it ends. Errors: PRL_INFERENCE_RATE_LIMIT when there are not as many. */
  async during<Result>(samples: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#held + samples > this.#most) {
      const held = `${this.#held} of ${this.#most} samples run or wait`;
      throw new PrlError(
        "PRL_INFERENCE_RATE_LIMIT",
        `${held}, so there is no place for ${samples} more: try again later`,
      );
    }
    this.#held += samples;
    try {
      return await work();
    } finally {
      this.#held -= samples;
    }
  }
}
