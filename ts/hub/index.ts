/** Repositories of the Hugging Face hub: what files they have, and their download into a cache. */
export { exclusively } from "./cache-file.ts";
export { blobPath, download, fileUrl, isWhole, unfinishedPath } from "./download.ts";
export {
  commitOf,
  type HubFile,
  type HubRepository,
  type HubSnapshot,
  isCommit,
  isRepositoryName,
  listFiles,
  openSnapshot,
  repositoryRoot,
} from "./repository.ts";
export { nextPiece, PassingFailure, request, withRetries } from "./request.ts";
export { type HubSettings, hubSettings, type RepositoryKind } from "./settings.ts";
