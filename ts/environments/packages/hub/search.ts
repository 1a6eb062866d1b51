/** Searches a hub for environments, by the search of npm's registries. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { proxiedFetch, proxiesOf } from "../../../proxied-fetch.ts";
import { ENVIRONMENT_KEYWORD } from "../environment-package.ts";

const TIMEOUT_MS = 30_000;
/** The most that registries give at once. */
const MOST = 250;
const UNAUTHORIZED = [401, 403];

/** An environment that a hub has. */
export interface FoundPackage {
  readonly name: string;
  /** Its newest version. */
  readonly version: string;
  readonly description: string;
}

const schema = z.object({
  objects: z.array(
    z.object({
      package: z.object({
        name: z.string(),
        version: z.string().optional(),
        "dist-tags": z.record(z.string(), z.string()).optional(),
        description: z.string().nullish(),
        keywords: z.array(z.string()).nullish(),
      }),
    }),
  ),
});

export interface SearchOptions {
  /** Address of the hub. */
  readonly registry: string;
  readonly token: string | null;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The environments that fit a text, best first; at most 250. Registries that know no search by keyword are searched by the text, and other
 * packages left out.
 *
 * @throws PrlError `PRL_ENVIRONMENT_HUB`
 */
export async function searchHub(text: string, options: SearchOptions): Promise<FoundPackage[]> {
  const byKeyword = await asked(`keywords:${ENVIRONMENT_KEYWORD} ${text}`.trim(), options);
  return byKeyword.length > 0 ? byKeyword : asked(text, options);
}

async function asked(text: string, { registry, token, signal }: SearchOptions): Promise<FoundPackage[]> {
  const url = new URL("-/v1/search", registry.endsWith("/") ? registry : `${registry}/`);
  url.searchParams.set("text", text);
  url.searchParams.set("size", String(MOST));
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  let answer: unknown;
  try {
    const response = await proxiedFetch(proxiesOf(process.env), url, {
      headers,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    if (UNAUTHORIZED.includes(response.status))
      throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} wants a token: prl env login --registry ${registry}`);
    if (!response.ok) throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} answers a search with ${response.status}`);
    answer = await response.json();
  } catch (cause) {
    if (cause instanceof PrlError) throw cause;
    throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} does not answer a search, or with no JSON`, { cause });
  }
  const parsed = schema.safeParse(answer);
  if (!parsed.success)
    throw new PrlError("PRL_ENVIRONMENT_HUB", `${registry} answers a search as no registry of npm does`, {
      cause: parsed.error,
    });
  return parsed.data.objects
    .map((found) => found.package)
    .filter(({ keywords }) => keywords?.includes(ENVIRONMENT_KEYWORD) === true)
    .map(({ name, version, "dist-tags": tags, description }) => ({
      name,
      version: version ?? tags?.["latest"] ?? "",
      description: description ?? "",
    }));
}
