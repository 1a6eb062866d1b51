/** The two ways in which a template ends early. The renderer adds the template's name and line. */

/** The template or its variables are wrong: Python's jinja2 would raise here, too. */
export class TemplateFailure extends Error {}

/** The template asks for something of Python's jinja2 that is not implemented here. */
export class TemplateUnsupported extends Error {}
