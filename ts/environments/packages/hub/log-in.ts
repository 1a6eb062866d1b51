/** Asks a hub for a token, for a name and a password. The password is sent to that hub only, and kept nowhere. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { proxiedFetch, proxiesOf } from "../../../proxied-fetch.ts";

const TIMEOUT_MS = 30_000;

export interface LogInOptions {
  readonly registry: string;
  readonly user: string;
  readonly password: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A token of the user's account, which the hub makes when it takes new accounts.
 *
 * @throws PrlError `PRL_ENVIRONMENT_HUB`
 */
export async function logIn({ registry, user, password, signal }: LogInOptions): Promise<string> {
  const base = registry.endsWith("/") ? registry : `${registry}/`;
  const url = new URL(`-/user/org.couchdb.user:${encodeURIComponent(user)}`, base);
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  let answer: { status: number; body: unknown };
  try {
    const response = await proxiedFetch(proxiesOf(process.env), url, {
      method: "PUT",
      // Another address would get the password, which stands in the body, too.
      redirect: "error",
      headers: { "content-type": "application/json", authorization: `Basic ${basic}` },
      body: JSON.stringify({ _id: `org.couchdb.user:${user}`, name: user, password, type: "user", roles: [] }),
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    answer = { status: response.status, body: await response.json() };
  } catch (cause) {
    if (cause instanceof PrlError) throw cause;
    throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} does not answer a login, or with no JSON`, { cause });
  }
  const parsed = z.object({ token: z.string().min(1) }).safeParse(answer.body);
  if (parsed.success) return parsed.data.token;
  const said = z.object({ error: z.string() }).safeParse(answer.body).data?.error ?? "it gives no token";
  throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} refuses the login of ${user} (${answer.status}): ${said}`);
}
