/** What the shell of a row with a sandbox allows, and how a prompt says it. */

/** Time of one command; what it has started goes on to run until the command ends. */
export const COMMAND_MS = 20_000;
/** Time of all commands of a rollout. */
export const ALL_COMMANDS_MS = 300_000;
/** Commands of a rollout; later ones are refused. */
export const MOST_COMMANDS = 80;
/** Longer commands are refused. */
export const LONGEST_COMMAND = 20_000;
/** What is printed beyond this is cut in its middle. */
export const MOST_PRINTED = 12_000;
/** Model calls of a rollout. */
export const BOX_TURNS = 40;

const SHELL = `a sandbox without network, where it begins in your work directory and may take ${COMMAND_MS / 1000} s`;

export const BOX_DEEDS = [
  `The tool shell runs one command with sh in ${SHELL}. Files stay between commands; variables and the current folder do not. Only what you leave on disk is looked at. End with a reply without a call.`,
  `You have a shell: each call runs one command (sh, Python 3 and the usual programs) in ${SHELL}. What you write in replies does not count. When the work is done, reply in words.`,
  `Work with the tool shell. It starts every command anew in ${SHELL}; only files are kept. The result is judged by the files alone, so stop calling it once they are right.`,
  `Use the tool shell, which runs a command in ${SHELL}, and prints what the command printed. The files that are there at the end are graded, no text. Answer without a call to finish.`,
] as const;
