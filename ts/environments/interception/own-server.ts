/** The interception server of this process: started when the first program is to reach the policy, for all rollouts there are. */
import { InterceptionServer } from "./server.ts";

let own: Promise<InterceptionServer> | null = null;

/** Errors: PRL_IO; the next call tries again. */
export async function ownInterceptionServer(): Promise<InterceptionServer> {
  own ??= InterceptionServer.start();
  try {
    return await own;
  } catch (error) {
    own = null;
    throw error;
  }
}
