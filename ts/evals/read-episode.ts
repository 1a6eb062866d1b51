/** Reads one line of a `traces.jsonl`, of an evaluation or of a training step, whose lines also have advantages. */
import type { Episode } from "../environments/index.ts";
import { episodeSchema } from "../environments/records.ts";

/** Null when the line is not a whole episode. */
export function readEpisode(line: string): Episode | null {
  try {
    const { advantage: _one, advantages: _all, ...episode } = JSON.parse(line) as Record<string, unknown>;
    return episodeSchema.parse(episode);
  } catch {
    return null;
  }
}
