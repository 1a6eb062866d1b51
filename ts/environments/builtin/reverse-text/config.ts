/** Arguments of reverse-text. */
import { z } from "zod";

export const config = z
  .strictObject({
    min_len: z.int().positive().default(4).describe("Shortest string (letters)"),
    max_len: z.int().positive().default(12).describe("Longest string (letters)"),
    alphabet: z
      .string()
      .regex(/^[!-~]+$/u, "use printable ASCII without the space")
      .default("abcdefghijklmnopqrstuvwxyz")
      .describe("Letters that strings are drawn from, each once"),
    answer_noise: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .describe("Demonstrations: probability that an answer letter is replaced"),
    noise_after: z.int().nonnegative().default(0).describe("Demonstrations: how many come without noise first"),
  })
  .refine(({ min_len, max_len }) => min_len <= max_len, { path: ["max_len"], message: "must be at least min_len" })
  .refine(({ alphabet }) => new Set(alphabet).size === alphabet.length, {
    path: ["alphabet"],
    message: "a letter occurs twice",
  });

export type ReverseConfig = z.output<typeof config>;
