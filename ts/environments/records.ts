/** The records of a rollout, as they travel and are counted, for processes that run no environment. They are not public. */
export {
  type Episode,
  episodeSchema,
  type EpisodeTrace,
  isRetryable,
  rewardOf,
  toEpisodeError,
} from "./episode/episode.ts";
export { decodeEpisode, type ReceivedEpisode } from "./episode/episode-frame.ts";
export { partialOf } from "./episode/partial-rollout.ts";
export { UNSAMPLED_VERSION } from "./episode/trace-columns.ts";
export { keepScored, TracesFile } from "./episode/traces-file.ts";
export { groupScoresSchema, withGroupScores } from "./model/group-reward.ts";
export { occurrences, type Task } from "./model/tasks.ts";
export { workerToken } from "./worker/door.ts";
export {
  IDENTITY_HEADER,
  identityDifference,
  identityDigest,
  type WorkerIdentity,
  workerIdentity,
} from "./worker/identity.ts";
export { failedEpisode, type RunRequest, type ScoreGroupRequest } from "./worker/protocol.ts";
