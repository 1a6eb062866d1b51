/**
 * Pairs to learn the task from, clean at first and noisy later.
 *
 * Clean pairs teach the mechanism; noise late in the stage then spoils the answers of the finished policy, not what it
 * has learnt, and so leaves reinforcement learning something to improve. (Stopping early instead leaves a policy that
 * cannot be lifted.)
 */
import type { Demonstration } from "../../model/environment.ts";
import type { Rng } from "../../../random/rng.ts";
import type { ReverseConfig } from "./config.ts";
import { strings } from "./strings.ts";
import { taskOf } from "./task.ts";

/**
 * Endless. From pair `noise_after` on each answer letter is replaced by a random one with probability `answer_noise`.
 */
export function* demonstrations(config: ReverseConfig, rng: Rng): Generator<Demonstration> {
  const { alphabet, answer_noise: noise, noise_after: clean } = config;
  const noisy = (letter: string): string => (rng.next() < noise ? rng.pick(alphabet) : letter);
  let index = 0;
  for (const text of strings(config, rng, "demonstrations")) {
    const { prompt, answer } = taskOf(text);
    yield { prompt, completion: index < clean ? answer : Array.from(answer, noisy).join("") };
    index += 1;
  }
}
