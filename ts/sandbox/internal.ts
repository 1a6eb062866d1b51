/** Exports of `ts/sandbox` for other parts of prl. They are not public. */
export { daemonArguments } from "./daemon-arguments.ts";
