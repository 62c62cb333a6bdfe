/** A structured logger: fields, then a sentence. A pino logger satisfies it. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The fields that a line for people leaves out. */
const FOR_MACHINES = new Set(['level', 'time', 'name', 'msg']);

/** A log line for a terminal: who says it, the sentence, and the fields in words. */
export function renderLogLine(name: string, fields: object, message: string): string {
  const details = Object.entries(fields)
    .filter(([key, value]) => !FOR_MACHINES.has(key) && value !== undefined)
    .map(([key, value]: [string, unknown]) => `${key}: ${inWords(value)}`);
  const text = `${name}: ${message}${details.length === 0 ? '' : ` (${details.join(', ')})`}`;
  // Names of devices, games and callers must not control the terminal.
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

function inWords(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return describeError(value);
  const message =
    typeof value === 'object' && value !== null && 'message' in value && value.message;
  return typeof message === 'string' ? message : JSON.stringify(value);
}

/** The message of an error and of its causes, without stacks, each once. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause === undefined) return error.message;
  const cause = describeError(error.cause);
  // One that wraps another often has its message.
  return cause === error.message || cause.startsWith(`${error.message}: `)
    ? cause
    : `${error.message}: ${cause}`;
}
