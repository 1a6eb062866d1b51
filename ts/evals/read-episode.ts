/** One line of a `traces.jsonl`, of an evaluation or of a training step, which adds what the traces were worth. */
import { type Episode, episodeSchema } from "../environments/index.ts";

/** Null for what is no whole episode. */
export function readEpisode(line: string): Episode | null {
  try {
    const { advantage: _one, advantages: _all, ...episode } = JSON.parse(line) as Record<string, unknown>;
    return episodeSchema.parse(episode);
  } catch {
    return null;
  }
}
