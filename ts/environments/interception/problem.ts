/** The answer to an agent when a turn fails. */
import type { Problem } from "../../dialects/index.ts";
import { type ErrorCode, messageOf, PrlError } from "../../errors.ts";
import { RolloutStop } from "../model/limits.ts";

const STATUS: Partial<Record<ErrorCode, number>> = {
  PRL_AGENT_REQUEST: 400,
  PRL_AGENT_UNSUPPORTED: 400,
  PRL_AGENT_STOPPED: 400,
  PRL_AGENT_KEY: 401,
  PRL_INFERENCE_REQUEST: 400,
  PRL_INFERENCE_CONTEXT: 400,
  PRL_INFERENCE_UNSUPPORTED: 400,
  PRL_TEMPLATE: 400,
  PRL_TEMPLATE_UNSUPPORTED: 400,
  PRL_ENVIRONMENT_UNSUPPORTED: 400,
  PRL_INFERENCE_RATE_LIMIT: 429,
  PRL_INFERENCE_TIMEOUT: 504,
  PRL_ENVIRONMENT_TIMEOUT: 504,
  PRL_EPISODE_CANCELLED: 503,
};

/** Turns an exception into a problem for the agent: failures of the model's side are a 5xx. */
export function toProblem(error: unknown): Problem {
  if (error instanceof RolloutStop) return { status: 400, code: "PRL_AGENT_STOPPED", message: error.message };
  if (!(error instanceof PrlError)) {
    return {
      status: 502,
      code: "PRL_INFERENCE_FAILED",
      message: messageOf(error),
    };
  }
  return { status: STATUS[error.code] ?? 502, code: error.code, message: error.message };
}
