/** Opens the endpoints of an evaluation; its rollouts are spread over them. */
import { type EndpointEntry, endpointsFileSchema, type EvalConfig, nearest, readConfigFile } from "../config/index.ts";
import { type Endpoint, openEndpoint } from "../environments/index.ts";
import { PrlError } from "../errors.ts";

export type Evaluation = EvalConfig["eval"][number];

/** The entries of an endpoints file. Errors: PRL_CONFIG_FILE, PRL_CONFIG_SYNTAX, PRL_CONFIG_INVALID. */
export async function readEndpointsFile(path: string): Promise<EndpointEntry[]> {
  const { values } = await readConfigFile(path, process.cwd());
  const parsed = endpointsFileSchema.safeParse(values);
  if (parsed.success) return parsed.data.endpoint;
  const problems = parsed.error.issues.map(({ path: key, message }) => `${key.join(".")}: ${message}`).join("; ");
  throw new PrlError("PRL_CONFIG_INVALID", `${path}: ${problems}`);
}

/**
 * The endpoints of an evaluation, at least one: those in the file with the model's name, else the one at `base_url`.
 * Errors: PRL_CONFIG_INVALID for a model that has neither, PRL_CONFIG_ENVIRONMENT for a key's variable that is not set.
 */
export function openEndpoints(
  config: EvalConfig,
  evaluation: Evaluation,
  known: readonly EndpointEntry[],
  env: Readonly<Record<string, string | undefined>>,
): Endpoint[] {
  const found = known.filter(({ id }) => id === evaluation.model);
  const entries =
    found.length > 0 ? found.map((entry) => overridden(entry, evaluation)) : [entryOfConfig(evaluation, known)];
  return entries.map(({ model, url, api, api_key_var: variable, headers, stream }) => {
    const apiKey = variable === null ? undefined : env[variable];
    if (variable !== null && (apiKey === undefined || apiKey === "")) {
      throw new PrlError(
        "PRL_CONFIG_ENVIRONMENT",
        `evaluation "${evaluation.name}": the environment variable ${variable}, which should hold the key, is not set`,
      );
    }
    return openEndpoint({
      url,
      model,
      api,
      stream,
      headers: { ...config.headers, ...headers },
      extraBody: withoutNone(evaluation.sampling.extra),
      maxRetries: config.max_retries,
      timeoutMs: config.timeout_s * 1000,
      ...(apiKey === undefined ? {} : { apiKey }),
    });
  });
}

function overridden(entry: EndpointEntry, { base_url: url, api, api_key_var: variable }: Evaluation): EndpointEntry {
  return { ...entry, url: url ?? entry.url, api: api ?? entry.api, api_key_var: variable ?? entry.api_key_var };
}

function entryOfConfig(evaluation: Evaluation, known: readonly EndpointEntry[]): EndpointEntry {
  const { name, model, base_url: url, api, api_key_var } = evaluation;
  if (url !== null) return { id: model, model, url, api: api ?? "openai", api_key_var, headers: {}, stream: false };
  const ids = [...new Set(known.map(({ id }) => id))];
  const near = nearest(model, ids);
  const advice = near === null ? `it has ${ids.join(", ")}` : `did you mean "${near}"?`;
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `evaluation "${name}": the endpoints file has no endpoint "${model}" and there is no base_url; ${advice}`,
  );
}

/** TOML has no null. */
function withoutNone(extra: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, value === "None" ? null : value]));
}
