/** The text is no mathematics that we know. */
export class Unparsable extends Error {}
