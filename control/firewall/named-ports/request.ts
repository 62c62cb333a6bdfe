import { isPortName } from './find.ts';

/**
 * The port of a rule in a request: by number, or by name in either member. What was read has the name beside the number
 * that it had then, so the name applies.
 */
export function portOf(rule: {
  readonly destination_port?: string | number | null;
  readonly named_port?: string | null;
}): { readonly destination_port: string | null; readonly named_port: string | null } {
  const { destination_port: port = null, named_port: name = null } = rule;
  if (name !== null) return { destination_port: null, named_port: name };
  const text = port === null ? null : String(port);
  return text !== null && isPortName(text)
    ? { destination_port: null, named_port: text }
    : { destination_port: text, named_port: null };
}
