/** Repositories of the Hugging Face hub: what files they have, and their download into a cache. */
export { download } from "./download.ts";
export { type HubFile, type HubSnapshot, openSnapshot } from "./repository.ts";
export { type HubSettings, hubSettings } from "./settings.ts";
