import type { RuleInput } from '@portcullis/client/index.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import { explainSource, hasPorts, PROTOCOLS, type Protocol } from './rule-draft.ts';
import { messages } from '../../../messages/index.ts';

export interface PastedLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
  /** Null where the line is not a rule. */
  readonly rule: RuleInput | null;
  readonly reason: string | null;
}

const text = messages.paste;
/** Words for no source. */
const ANYWHERE = ['any', 'anywhere', 'everywhere', 'all'];

/**
 * Reads a rule a line; empty lines and what follows `#` are left out.
 *
 *     line   = [ "allow" / "deny" ] [ protocol ] [ ports ] [ [ "from" ] source ]
 *     action : allow without one      protocol: any without ports, else tcp
 *     source : also "anywhere"
 */
export function parsePastedRules(pasted: string, ip: string | null): PastedLine[] {
  return pasted
    .split(/\r?\n/)
    .map((raw, index) => ({ line: index + 1, text: raw.replace(/#.*$/, '').trim() }))
    .filter((each) => each.text !== '')
    .map(({ line, text }) => ({ line, text, ...parseLine(text, ip) }));
}

function parseLine(line: string, ip: string | null): Pick<PastedLine, 'rule' | 'reason'> {
  const words = line
    .toLowerCase()
    .replaceAll(/\s*,\s*/g, ',')
    .split(/\s+/);
  const take = <Word extends string>(known: readonly Word[]): Word | null => {
    const found = known.find((word) => word === words[0]) ?? null;
    if (found !== null) words.shift();
    return found;
  };
  const action = take(['allow', 'deny'] as const) ?? 'allow';
  const named: Protocol | null = take(PROTOCOLS);
  const hasPort = words[0] !== undefined && parsePortExpression(words[0]).ok;
  const ports = hasPort ? (words.shift() ?? null) : null;
  const isNamed = take(['from']) !== null;
  const typed = words.shift() ?? null;
  const source = typed !== null && ANYWHERE.includes(typed) ? null : typed;
  const wrong = (reason: string) => ({ rule: null, reason });
  // The first word that is none of them, not what it makes of the words behind it.
  if (source !== null && !isNamed && !/[.:]/.test(source)) return wrong(text.unknown(source));
  if (words.length > 0) return wrong(text.tooMuch(words.join(' ')));
  const protocol = named ?? (ports === null ? 'any' : 'tcp');
  if (ports !== null && !hasPorts(protocol)) return wrong(text.noPorts(protocol));
  const explained = explainSource(source ?? '', ip);
  if (!explained.isValid) return wrong(explained.text);
  const rule = { action, protocol, destination_port: ports, source_ip: source };
  return { rule, reason: null };
}
