/** Sampling of evaluations: settings for all of them, settings for one, and how they are merged. */
import { z } from "zod";

const temperature = z.number().min(0).max(2).describe("Sampling temperature; 0: greedy");
const topP = z.number().gt(0).max(1).describe("Nucleus sampling: share of the probability to sample from; 1: off");
const topK = z.int().min(-1).describe("Sample among this many likeliest tokens; -1 or 0: off");

/** Keys of all evaluations. */
export const samplingOfAll = {
  temperature: temperature.default(1),
  top_p: topP.default(1),
  top_k: topK.default(-1),
};

function ofOne<Setting extends z.ZodType>(setting: Setting) {
  return setting.nullable().default(null).describe(`${setting.description}; unset: the sampling of all evaluations`);
}

/** Keys of one evaluation; null means the setting for all. */
export const samplingOfOne = {
  temperature: ofOne(temperature),
  top_p: ofOne(topP),
  top_k: ofOne(topK),
};

export interface Sampling {
  temperature: number;
  top_p: number;
  top_k: number;
  max_completion_tokens: number | null;
}

/** Unset keys of one evaluation come from the settings for all. */
export function samplingOver(one: { [Key in keyof Sampling]: Sampling[Key] | null }, all: Sampling): Sampling {
  return {
    temperature: one.temperature ?? all.temperature,
    top_p: one.top_p ?? all.top_p,
    top_k: one.top_k ?? all.top_k,
    max_completion_tokens: one.max_completion_tokens ?? all.max_completion_tokens,
  };
}
