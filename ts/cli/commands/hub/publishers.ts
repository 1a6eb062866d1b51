/** Reads who may publish the packages of which scope: `@ada=ada+bob,@lab=carol,*=root`. */
import type { Publishers } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";

const SCOPE = /^(@[a-z0-9][a-z0-9._-]*|\*)$/u;
/** The registry takes names with a dollar for groups, such as `$all`. */
const ACCOUNT = /^[A-Za-z0-9][\w.-]*$/u;

/** Throws PRL_CLI_USAGE. */
export function readPublishers(text: string): Publishers {
  const found = new Map<string, readonly string[]>();
  for (const rule of text.split(",").map((part) => part.trim())) {
    const [scope = "", accounts = "", ...rest] = rule.split("=");
    const names = accounts.split("+");
    if (!SCOPE.test(scope) || rest.length > 0 || !names.every((name) => ACCOUNT.test(name))) {
      const form = "a scope and its accounts, such as @ada=ada+bob, or *=root for all other packages";
      throw new PrlError("PRL_CLI_USAGE", `prl hub serve: --publish: expected ${form}, got "${rule}"`);
    }
    if (found.has(scope)) throw new PrlError("PRL_CLI_USAGE", `prl hub serve: --publish names ${scope} twice`);
    found.set(scope, names);
  }
  return found;
}
