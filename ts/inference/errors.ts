/**
 * Errors on the wire: vLLM's `{ error: { message, type, param, code } }`, where `code` is ours, and a status that says whether client
 * or server is at fault.
 */
import { explain, PrlError, type ErrorCode } from "../errors.ts";

/** Codes that are not the server's own failure. Everything else is 500. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  PRL_INFERENCE_REQUEST: 400,
  PRL_INFERENCE_CONTEXT: 400,
  PRL_ENGINE_INPUT: 400,
  PRL_GRAMMAR_INVALID: 400,
  PRL_GRAMMAR_TOO_LARGE: 400,
  PRL_GRAMMAR_EMPTY: 400,
  PRL_TOKENIZER: 400,
  PRL_TEMPLATE: 400,
  PRL_WEIGHTS_SUPERSEDED: 409,
  PRL_WEIGHTS_MANIFEST: 422,
  PRL_WEIGHTS_DIGEST: 422,
  PRL_WEIGHTS_FORMAT: 422,
  PRL_WEIGHTS_IO: 422,
  PRL_WEIGHTS_TENSOR: 422,
  PRL_WEIGHTS_ADAPTER: 422,
  PRL_ENGINE_WEIGHTS: 422,
  PRL_ENGINE_CONFIG: 422,
  PRL_ENGINE_CONFIG_UNSUPPORTED: 422,
  PRL_ENGINE_DTYPE_UNSUPPORTED: 422,
  PRL_ENGINE_ARCHITECTURE_UNSUPPORTED: 422,
  PRL_ENGINE_CLOSED: 503,
  PRL_ENGINE_CAPACITY: 503,
  PRL_MEMORY: 503,
  PRL_INFERENCE_UNSUPPORTED: 501,
  PRL_TEMPLATE_UNSUPPORTED: 501,
  PRL_INFERENCE_TIMEOUT: 504,
  PRL_INFERENCE_RATE_LIMIT: 429,
};

/** vLLM's words for a status. */
const TYPES: Readonly<Record<number, string>> = {
  400: "BadRequestError",
  401: "AuthenticationError",
  403: "PermissionDeniedError",
  404: "NotFoundError",
  408: "RequestTimeoutError",
  409: "ConflictError",
  413: "RequestEntityTooLargeError",
  422: "UnprocessableEntityError",
  429: "TooManyRequestsError",
  501: "NotImplementedError",
  503: "ServiceUnavailableError",
};

/** An error that knows its HTTP status. */
export class HttpError extends PrlError {
  readonly status: number;

  constructor(status: number, code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
    this.status = status;
  }
}

/** A malformed request: 400. `field` is the dotted path of what is wrong. */
export function badRequest(field: string, problem: string): PrlError {
  return new PrlError("PRL_INFERENCE_REQUEST", `${field}: ${problem}`);
}

/** A feature that other servers have and this one does not: 501. */
export function unsupported(what: string): PrlError {
  return new PrlError("PRL_INFERENCE_UNSUPPORTED", what);
}

export interface WireError {
  status: number;
  body: { error: { message: string; type: string; param: null; code: ErrorCode } };
}

/** Status and body for anything that was thrown while a request was handled. */
export function toWire(error: unknown): WireError {
  if (error instanceof PrlError) {
    const status = error instanceof HttpError ? error.status : (STATUS[error.code] ?? 500);
    const cause = error.cause === undefined ? "" : ` (${explain(error.cause)})`;
    return wireError(status, error.code, error.message + cause);
  }
  const status = httpStatus(error);
  const code = status < 500 ? "PRL_INFERENCE_REQUEST" : "PRL_INFERENCE_FAILED";
  return wireError(status, code, explain(error));
}

/** A message may quote what the client sent. */
const MAX_MESSAGE_CHARACTERS = 2_000;

function wireError(status: number, code: ErrorCode, whole: string): WireError {
  const message = whole.length <= MAX_MESSAGE_CHARACTERS ? whole : `${whole.slice(0, MAX_MESSAGE_CHARACTERS)}...`;
  return { status, body: { error: { message, type: TYPES[status] ?? "InternalServerError", param: null, code } } };
}

/** Status of fastify's own errors (body too large, malformed JSON, ...). */
function httpStatus(error: unknown): number {
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof status === "number" && status >= 400 && status < 600 ? status : 500;
}
