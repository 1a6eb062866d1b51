import { expect, test } from "vitest";

import { type ErrorCode, PrlError } from "../../../ts/errors.ts";
import { toWire } from "../../../ts/inference/errors.ts";

/** The request's fault, the weights' fault, what there is not, the server's own fault. */
const STATUS: readonly (readonly [ErrorCode, number, string])[] = [
  ["PRL_TEMPLATE", 400, "BadRequestError"],
  ["PRL_TEMPLATE_UNSUPPORTED", 501, "NotImplementedError"],
  ["PRL_ENGINE_INPUT", 400, "BadRequestError"],
  ["PRL_ENGINE_ARCHITECTURE_UNSUPPORTED", 422, "UnprocessableEntityError"],
  ["PRL_ENGINE_CLOSED", 503, "ServiceUnavailableError"],
  ["PRL_ENGINE_CAPACITY", 503, "ServiceUnavailableError"],
  ["PRL_ENGINE_FAILED", 500, "InternalServerError"],
  ["PRL_NATIVE_PANIC", 500, "InternalServerError"],
];

test.each(STATUS)("%s is answered with %i and its message", (code, status, type) => {
  expect(toWire(new PrlError(code, "what is wrong"))).toEqual({
    status,
    body: { error: { message: "what is wrong", type, param: null, code } },
  });
});
