/** The interception server of this process, for all rollouts; it is started when the first program needs the policy. */
import { InterceptionServer } from "./server.ts";

let own: Promise<InterceptionServer> | null = null;

/** Errors: PRL_IO; the next call tries again. */
export async function sharedInterceptionServer(): Promise<InterceptionServer> {
  own ??= InterceptionServer.start();
  try {
    return await own;
  } catch (error) {
    own = null;
    throw error;
  }
}
