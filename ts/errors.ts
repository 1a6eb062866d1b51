/**
 * The registry of all errors, by code.
 *
 * A code is `PRL_<AREA>_<WHAT>`; it is stable, the message beside it is not. Some are raised by the Rust crates and carried over the
 * border by `native/src/error.rs`, some by the sandbox daemon: tests compare the lists.
 */

export const ERROR_CODES = {
  // ---- command line, config, user code ----
  PRL_CLI_USAGE: "the command line is wrong",
  PRL_CONFIG_SYNTAX: "a config file is not valid TOML",
  PRL_CONFIG_INVALID: "a config key is unknown, mistyped or has a value that does not fit",
  PRL_CONFIG_CONFLICT: "two places set the same thing to different values",
  PRL_CONFIG_FILE: "a config file cannot be read",
  PRL_CONFIG_ENVIRONMENT: "an environment variable of ours is unknown or wrong",
  PRL_USER_MODULE: "a module named by a path cannot be loaded or has no such export",
  PRL_USER_DEADLINE: "a function named by a path did not return in time",
  PRL_PLAN_UNFIT: "the parts of a run need more than the hardware of the plan has",
  // ---- run directory and processes ----
  PRL_RUN_OPTIONS: "an option that a run is started with is unknown or wrong",
  PRL_RUN_EXISTS: "the run directory is not empty",
  PRL_RUN_UNKNOWN: "there is no such run",
  PRL_RUN_DRIFT: "the config is no longer that of the run that is resumed",
  PRL_RUN_LOCKED: "the run directory is in use by a live run",
  PRL_RUN_GONE: "the run directory was removed or moved while the run was at work",
  PRL_RUN_INTERRUPTED: "the run was interrupted",
  PRL_CORES_TAKEN: "too few cores are free for the run",
  PRL_CORES_UNSUPPORTED: "a run cannot be kept on separate cores here",
  PRL_PROCESS_DIED: "a process of the run ended unexpectedly",
  PRL_PROCESS_NOT_READY: "a process of the run did not become ready in time",
  PRL_GPU_TURN: "trainer and inference servers that share a GPU did not hand it over in time",
  PRL_PYTHON_MISSING: "a Python environment is not set up, or lacks packages",
  PRL_PYTHON_SETUP: "a Python environment could not be made",
  PRL_TORCH_WORKER: "a process of the torch trainer failed",
  PRL_TMUX: "tmux is not there, or refused",
  PRL_SLURM: "Slurm is not there, or refused",
  PRL_KUBERNETES: "kubectl is not there, or refused",
  PRL_SSH: "ssh is not there, or a host cannot be reached, refuses, or was lost",
  PRL_IO: "a file could not be read or written",
  PRL_MEMORY: "the system gives a process no more memory",
  // ---- native addon and engine ----
  PRL_NATIVE_MISSING: "the native addon is not built",
  PRL_NATIVE_PANIC: "the native code panicked: a bug",
  PRL_ENGINE_CLOSED: "the engine handle is closed",
  PRL_ENGINE_CONFIG: "the model's config.json cannot be run",
  PRL_ENGINE_CONFIG_UNSUPPORTED: "the model's config.json asks for what the engine does not compute",
  PRL_ENGINE_ARCHITECTURE_UNSUPPORTED: "the model's architecture is not implemented",
  PRL_ENGINE_WEIGHTS: "the weights do not fit the model's config",
  PRL_ENGINE_INPUT: "a call's arguments do not fit the model",
  PRL_GRAMMAR_INVALID: "a required format of texts is malformed, or has something that cannot be enforced",
  PRL_GRAMMAR_TOO_LARGE: "a required format of texts is larger than the limits",
  PRL_GRAMMAR_EMPTY: "no text that the model can write matches a required format",
  PRL_ENGINE_DTYPE_UNSUPPORTED: "the dtype is not implemented",
  PRL_ENGINE_ISA: "the instruction set asked for is not there",
  PRL_ENGINE_CAPACITY: "the engine has no room: in memory, or for more requests",
  PRL_ENGINE_FAILED: "the engine could not compute a request",
  PRL_LOSS_UNKNOWN: "no loss has this name",
  PRL_LOSS_INPUT: "the arrays given to a loss do not fit together",
  PRL_TEACHER_TOKENIZER: "a teacher has another tokenizer than the policy",
  PRL_LOSS_DEADLINE: "a custom loss did not return in time",
  PRL_OPTIM_UNKNOWN: "no optimizer has this name",
  PRL_TRAIN_NON_FINITE: "the loss or the gradient is not finite",
  PRL_TRAIN_REPLAY: "the steps since a checkpoint cannot be trained again",
  PRL_TRAIN_DIFFERS: "steps that were trained again gave other weights than the first time",
  // ---- formats ----
  PRL_WEIGHTS_OPTIONS: "an option of a function of weights is unknown or wrong",
  PRL_WEIGHTS_IO: "a weights file could not be read or written",
  PRL_WEIGHTS_FORMAT: "a safetensors file is malformed",
  PRL_WEIGHTS_DIGEST: "bytes do not match their digest",
  PRL_CHECKPOINT_CORRUPT: "a checkpoint is torn, malformed or damaged",
  PRL_CHECKPOINT_UNKNOWN: "there is no such checkpoint",
  PRL_CHECKPOINT_FOREIGN: "a checkpoint, or a half of it, is of another run",
  PRL_WEIGHTS_BASE: "the version that a sparse one applies to is not there, or damaged",
  PRL_WEIGHTS_SUPERSEDED: "a version cannot be read, and there is a newer one in its place",
  PRL_WEIGHTS_MANIFEST: "a weight version's manifest is malformed",
  PRL_WEIGHTS_TENSOR: "a tensor is missing or unexpected",
  PRL_WEIGHTS_ADAPTER: "a PEFT adapter is not whole, or stands where a model's weights are meant",
  PRL_WEIGHTS_PLAN: "two layouts of weights do not fit together",
  PRL_PACKING_INPUT: "samples cannot be packed",
  PRL_PACKING_CONFIG: "a model's config does not say what its cost is made of",
  PRL_PACKING_UNSUPPORTED: "packing does not know how yet",
  PRL_BATCH_INVALID: "a batch file does not hold what it should",
  // ---- transport ----
  PRL_TRANSPORT_ADDRESS: "an address cannot be read or listened on",
  PRL_TRANSPORT_TLS: "certificates of the transport cannot be used, or one is missing",
  PRL_TRANSPORT_AUTH: "the other side refuses the token",
  PRL_TRANSPORT_UNREACHABLE: "the other side did not answer, or nothing came through, for too long",
  PRL_TRANSPORT_KEY: "a batch is of another run, or not what its key says",
  PRL_TRANSPORT_CONFLICT: "the receiver has another batch with the same key",
  PRL_TRANSPORT_SUPERSEDED: "a newer attempt has replaced the batch",
  PRL_TRANSPORT_CORRUPT: "bytes to be sent are not what they were",
  PRL_TRANSPORT_VERSION: "no node has the weight version, or its description is wrong",
  PRL_TRANSPORT_IO: "a file of the transport could not be read or written",
  PRL_TRANSPORT_CLOSED: "the transport is closed",
  // ---- text ----
  PRL_TOKENIZER: "the tokenizer failed",
  PRL_TOKENIZER_UNSUPPORTED: "the tokenizer or renderer feature is not implemented",
  PRL_RENDERER_UNKNOWN: "no renderer has this name",
  PRL_TEMPLATE: "the chat template failed",
  PRL_TEMPLATE_UNSUPPORTED: "the chat template uses something of jinja2 that is not implemented",
  // ---- inference ----
  PRL_INFERENCE_REQUEST: "a request to the inference server is malformed",
  PRL_INFERENCE_CONTEXT: "a prompt leaves no room for a reply in the model's context",
  PRL_INFERENCE_UNSUPPORTED: "this endpoint or option is not implemented",
  PRL_INFERENCE_UNREACHABLE: "an inference server does not answer",
  PRL_INFERENCE_TIMEOUT: "an inference server did not answer in time",
  PRL_INFERENCE_FAILED: "an inference server answered with an error",
  PRL_INFERENCE_LOST: "an inference server left service while a rollout was sampled on it",
  PRL_INFERENCE_AUTH: "an inference server refuses the key",
  PRL_INFERENCE_FOLDER: "weights or an adapter are in a folder that the inference server may not read",
  PRL_INFERENCE_RATE_LIMIT: "an inference server takes no more requests for now",
  PRL_INFERENCE_ANSWER: "an inference server's answer is broken off or makes no sense",
  PRL_CANARY_OUT_OF_BAND: "an engine's log-probabilities differ from the trainer's",
  // ---- environments and orchestration ----
  PRL_VERIFY_OPTIONS: "an option of a verifier is out of range",
  PRL_VERIFY_UNSUPPORTED: "what a verifier was asked for is not implemented, or not there",
  PRL_VERIFY_FAILED: "a verifier failed: a bug",
  PRL_ENVIRONMENT_UNKNOWN: "no environment has this id",
  PRL_ENVIRONMENT_INVALID: "an environment's definition is wrong",
  PRL_ENVIRONMENT_INSTALL: "npm could not do what it was asked to with an environment",
  PRL_ENVIRONMENT_HUB: "a hub of environments is not there, or refuses",
  PRL_ENVIRONMENT_INTEGRITY: "the bytes of an environment's package are not those that were published",
  PRL_ENVIRONMENT_UNLOCKED: "an installed environment is not the one that environments.lock says",
  PRL_ENVIRONMENT_REQUEST: "a request to an env worker is malformed",
  PRL_ENVIRONMENT_FAILED: "environment code threw",
  PRL_ENV_WORKER_ADDRESS: "an env worker cannot listen where it should, or not without a token and a certificate",
  PRL_ENV_WORKER_AUTH: "an env worker refuses the token",
  PRL_ENV_WORKER_TLS: "the certificate of an env worker is not the one expected, or a side does not encrypt",
  PRL_ENV_WORKER_MISMATCH: "an env worker is of another version, seed, tokenizer or environments than the run",
  PRL_ENV_WORKER_UNREACHABLE: "an env worker on another machine does not answer",
  PRL_JUDGE_VERDICT: "no answer of a judge holds a verdict",
  PRL_TOOL_SERVER: "a server of tools is gone or cannot be reached",
  PRL_ENVIRONMENT_TIMEOUT: "environment code did not end in time",
  PRL_ENVIRONMENT_UNSUPPORTED: "the environment feature is not implemented",
  PRL_AGENT_REQUEST: "an agent program's request is malformed",
  PRL_AGENT_UNSUPPORTED: "an agent program asks for what a policy does not give",
  PRL_AGENT_KEY: "an agent program's key is of no rollout",
  PRL_AGENT_STOPPED: "an agent program's rollout takes no more turns",
  PRL_AGENT_SILENT: "an agent program ended without a model call",
  PRL_DATA_FILE: "a data file cannot be read",
  PRL_DATA_FORMAT: "a data file is malformed",
  PRL_DATA_ROW: "a row of data does not fit its schema",
  PRL_HUB_OFFLINE: "a dataset or a model is not in the cache, and the network is switched off",
  PRL_HUB_UNREACHABLE: "the hub of datasets and models does not answer, or not for long enough",
  PRL_HUB_UNKNOWN: "the hub has no such dataset, model, revision or split",
  PRL_HUB_AUTH: "the hub refuses the token",
  PRL_HUB_ANSWER: "the hub's answer makes no sense",
  PRL_HUB_DIGEST: "a download's bytes are not what their digest says",
  PRL_HUB_SIZE: "a download is not as long as the hub's list says",
  PRL_HUB_DISK: "the disk has no room for a download",
  PRL_HUB_MODEL: "a repository of the hub holds no model that prl can load",
  PRL_EPISODE_CANCELLED: "a rollout was cancelled before it ended",
  PRL_EPISODE_INVALID: "what an env worker sent is no valid episode",
  PRL_BENCHMARK_UNKNOWN: "no benchmark or suite has this name",
  PRL_BENCHMARK_CHANGED: "the data of a benchmark is not what was published",
  PRL_EVAL_RESUME: "an evaluation cannot go on from what an earlier one left",
  PRL_EVAL_FAILED: "no rollout of an evaluation could be scored",
  PRL_ADVANTAGE_UNKNOWN: "no advantage estimator has this name",
  PRL_ADVANTAGE_INPUT: "rewards or parameters do not fit the estimator",
  PRL_STATISTICS_INPUT: "numbers or options do not fit the statistic",
  PRL_ORCHESTRATOR_FAULT:
    "the orchestrator lost count of a group or a rollout: a fault of this program, please report it",
  PRL_ORCHESTRATOR_STARVED: "no trainable batch came together",
  // ---- sandboxes ----
  PRL_SANDBOX_REQUEST: "a sandbox request is malformed",
  PRL_SANDBOX_ISOLATION: "the sandbox daemon cannot give the isolation asked for",
  PRL_SANDBOX_AUTH: "the sandbox daemon refuses the token",
  PRL_SANDBOX_CLOSED: "the sandbox pool is closed",
  PRL_SANDBOX_ADDRESS: "the address of a sandbox daemon cannot be read",
  PRL_SANDBOX_UNREACHABLE: "no sandbox daemon answers",
  PRL_SANDBOX_START_FAILED: "the embedded sandbox daemon did not start",
  PRL_SANDBOX_START_TIMEOUT: "the embedded sandbox daemon was not ready in time",
  PRL_SANDBOX_MISSING: "the sandbox daemon is not built",
  PRL_SANDBOX_BENCH: "a program of the sandbox bench did not do what it must",
  PRL_SANDBOX_LOCAL_FILE: "a file or directory of this machine could not be read or written",
  PRL_SANDBOX_BOX_UNKNOWN: "no held sandbox has this id",
  PRL_SANDBOX_BOX_ENDED: "the held sandbox is gone",
  PRL_SANDBOX_UNKNOWN: "no process or snapshot has this id",
  PRL_SANDBOX_EXISTS: "the id belongs to another box, process or snapshot",
  PRL_SANDBOX_FILE_UNKNOWN: "the path names nothing in the sandbox",
  PRL_SANDBOX_FILE: "a file operation in the sandbox failed",
  PRL_SANDBOX_PORT: "nothing listens on the port in the sandbox",
  PRL_SANDBOX_TOO_LARGE: "more than was asked for or is kept",
  PRL_SANDBOX_IMAGE: "an image of the sandbox daemon cannot be used",
  PRL_SANDBOX_RUNTIME: "the warm runtime asked for is not there or cannot run the command",
  PRL_SANDBOX_OVERLOADED: "the sandbox daemons are full",
  PRL_SANDBOX_DRAINING: "the sandbox daemon is stopping",
  PRL_SANDBOX_SETUP: "a sandbox could not be made",
  PRL_SANDBOX_SPAWNER: "the sandbox daemon's spawner is gone",
  PRL_SANDBOX_INIT_DIED: "a sandbox's init ended without a report",
  PRL_SANDBOX_CONNECTION_LOST: "the connection to the sandbox daemon broke; whether the call took place is not known",
  PRL_SANDBOX_DAEMON_EXITED: "the embedded sandbox daemon is dead",
  PRL_SANDBOX_DAEMON_RESTARTED: "the sandbox daemon was restarted; what it held is gone",
  PRL_SANDBOX_DEADLINE: "the sandbox daemon gave no answer in time",
  PRL_SANDBOX_PROTOCOL: "the sandbox daemon broke the protocol",
  PRL_SANDBOX_RESULT_EXPIRED: "the kept result of a key was dropped",
  PRL_SANDBOX_CANCELLED: "the tests were cancelled by their key",
  PRL_SANDBOX_UNREAD: "the results of the tests were not read for too long",
  PRL_SANDBOX_INFRA: "the infrastructure of a sandboxed run failed: neither the program's success nor its failure",
  PRL_SANDBOX_UNSUPPORTED: "the sandbox feature is not implemented yet",
  // The sandbox daemon gives these codes on its standard error, in its metrics, and to callers that use another client than prl's.
  PRL_SANDBOX_INVALID: "the daemon cannot carry out a request: mend the field that its message names",
  PRL_SANDBOX_UNAUTHENTICATED: "a call brought no token that the daemon knows: send the one of its --token-file",
  PRL_SANDBOX_USAGE:
    "an option of the sandbox daemon is unknown or wrong: `prl sandbox serve --socket <path> -- --help` lists them",
  PRL_SANDBOX_SERVE:
    "the sandbox daemon cannot listen, or not read or write a file that it needs: mend the path, the rights or the address that its message names",
  PRL_DEADLINE: "something waited for did not happen in time",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An error with a stable code. The message says what happened, where, and what to do. */
export class PrlError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "PrlError";
    this.code = code;
  }
}

/** The message of anything that was thrown; of an error without one, such as Node's for a host of which no address answers, its code or its name. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.message !== "") return thrown.message;
  return "code" in thrown ? String(thrown.code) : thrown.name;
}

/** Whether the system had no more memory for this process, by what the error or one of its causes says. */
export function lacksMemory(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ("code" in error && (error.code === "PRL_MEMORY" || error.code === "ENOMEM")) return true;
  // So V8 refuses a buffer; the error has no code.
  return error.message === "Array buffer allocation failed" || lacksMemory(error.cause);
}

/** One line of text: the message and those of its causes. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = error instanceof PrlError ? `[${error.code}] ` : "";
  return `${code}${messageOf(error)}${causeText(error, "\n  caused by: ")}`;
}

/** The causes of an error, without a plain exception whose whole message the error repeats. */
function causeText({ message, cause }: Error, introduction: string): string {
  if (cause === undefined) return "";
  const isRepeated = cause instanceof Error && !(cause instanceof PrlError) && cause.cause === undefined;
  return isRepeated && cause.message !== "" && message.includes(cause.message)
    ? ""
    : `${introduction}${explain(cause)}`;
}

/** An error for JSON documents: its code, `INTERNAL` when it has none, and its message with those of its causes. */
export interface ErrorDescription {
  code: string;
  message: string;
}

export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof PrlError)) return { code: "INTERNAL", message: explain(error) };
  return { code: error.code, message: `${error.message}${causeText(error, "\ncaused by: ")}` };
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
