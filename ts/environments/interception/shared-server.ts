/** The interception server of this process, for all rollouts; it is started when the first program needs the policy. */
import type { InterceptionServer } from "./server.ts";

let own: Promise<InterceptionServer> | null = null;

/** Errors: PRL_IO; the next call tries again. */
export async function sharedInterceptionServer(): Promise<InterceptionServer> {
  own ??= import("./server.ts").then((module) => module.InterceptionServer.start());
  try {
    return await own;
  } catch (error) {
    own = null;
    throw error;
  }
}
