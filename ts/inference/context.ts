/** State that the routes of one server share. */
import type { Slots } from "../async/slots.ts";
import type { Model } from "../native/index.ts";
import type { WeightPuller } from "../transports/index.ts";
import type { Renderer, Tokenizer } from "../renderers/index.ts";
import type { LoadedAdapters } from "./adapters.ts";
import type { ActiveRequest } from "./requests/active-request.ts";
import type { Admission } from "./requests/admission.ts";
import type { InterruptibleRequests } from "./requests/interruptible-requests.ts";
import type { ProgressWatch } from "./progress-watch.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { RequestLimits } from "./requests/request.ts";
import type { WeightRoots } from "./weight-roots.ts";

export interface Deadlines {
  /** Deadline of one request to `/inference/v1/generate`, with waits and pauses. */
  generateMs: number;
  /** Deadline of `/pause`, `/resume` and `/reset_prefix_cache`. */
  controlMs: number;
  /** Deadline of `/update_weights`, with reading the weights. */
  updateMs: number;
  /** Longest time between two pieces of a request's body. */
  bodyMs: number;
  /** How long requests may wait while the engine computes nothing before `/health` fails. Pauses do not count. */
  stallMs: number;
}

export interface ServerContext {
  readonly model: Model;
  /** Pulls versions from other nodes; null when weights come only from folders. */
  readonly puller: WeightPuller | null;
  /** Whether weights that this machine has digested before are digested again when they are loaded. */
  readonly verifyWeights: "once" | "always";
  /** Bounds the folders that control calls name. */
  readonly weightRoots: WeightRoots;
  /** Key that control calls have to present; null: none, and no control by other machines. */
  readonly controlKey: string | null;
  /** Keys of which callers have to present one to sample; empty: none is needed. */
  readonly apiKeys: readonly string[];
  /** Other machines can reach the server. */
  isWide: boolean;
  /** Names under which the model is listed; the first is its id. */
  readonly modelNames: readonly string[];
  /** Folder that the model was loaded from. */
  readonly modelDir: string;
  readonly limits: RequestLimits;
  /** Adapters that requests can name. */
  readonly adapters: LoadedAdapters;
  readonly deadlines: Deadlines;
  /** Version of this package. */
  readonly packageVersion: string;
  /** Requests being answered. */
  readonly active: Set<ActiveRequest>;
  /** Bounds them. */
  readonly admission: Admission;
  /** Bounds the prompts that are scored at once. */
  readonly scorings: Slots;
  /** Watches whether the engine makes progress for them. */
  readonly progress: ProgressWatch;
  /** Counts them. */
  readonly requestMetrics: RequestMetrics;
  /** Those of them that can be cut. */
  readonly cuts: InterruptibleRequests;
  /** True between `/pause` and `/resume`. */
  paused: boolean;
  /** True between `/sleep` and `/wake_up`. */
  sleeping: boolean;
  /** True once the server stops: new requests are refused. */
  closing: boolean;
  /** A new id for a request inside the engine. */
  nextId(): string;
  /** A seed for a request that brought none. */
  nextSeed(): number;
  /** The model's tokenizer, loaded when a request with stop strings first needs it. */
  tokenizer(): Promise<Tokenizer>;
  /** The model's renderer with these variables for its template. */
  renderer(templateKwargs: Readonly<Record<string, unknown>>): Promise<Renderer>;
}
