/** A task row of reverse-text. */

export interface ReverseTask {
  /** `reverse: {string}\n`, sent to the policy unchanged. */
  prompt: string;
  /** The string reversed; the completion is right when it is this and then the end of the sequence. */
  answer: string;
}

export function taskOf(text: string): ReverseTask {
  return { prompt: `reverse: ${text}\n`, answer: Array.from(text).reverse().join("") };
}
