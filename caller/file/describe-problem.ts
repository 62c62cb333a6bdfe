import type { ProblemError } from '@portcullis/client/errors.ts';

/** A detail that needs its subject before it; any other one is whole. */
const VERB =
  /^(?:is|are|was|were|has|have|had|must|may|cannot|can|needs?|names?|belongs?|takes?|does|overlaps?|ends?|would)\b/;

/** The names of request members in the words of the command. */
const NAMES: Readonly<Record<string, string>> = {
  source_ip: 'the source',
  sources: 'the source',
  destination_port: 'the port',
  named_port: 'the port',
  target: 'the target',
  prefix: 'the prefix',
  expires_at: 'the end',
  from: '--from',
  to: '--to',
};

/** The sentences of a problem: its detail, then each reason that the detail does not have. */
export function describeProblem({ message, code, errors }: ProblemError): string {
  const reasons = errors.map((error) => ({
    detail: error.detail,
    place: placeOf(('parameter' in error ? error.parameter : error.pointer) ?? ''),
  }));
  const words = ({ place, detail }: (typeof reasons)[number]): string =>
    place === '' || !VERB.test(detail) ? detail : `${place} ${detail}`;
  const added = reasons.filter(({ detail }) => !message.includes(trimmed(detail)));
  // The detail of this problem says how many reasons there are, if it has none itself.
  if (code === 'invalid_request' && added.length === reasons.length && added.length > 0) {
    return sentence(added.map(words).join('; '));
  }
  return [withoutPointers(message), ...added.map((one) => sentence(words(one)))].join(' ');
}

/** `/rules/0/source_ip` as `rules, number 1, the source`. */
function placeOf(pointer: string): string {
  const parts = pointer.split('/').filter(Boolean);
  return parts
    .flatMap((part, index) => {
      if (!/^\d+$/.test(part)) return [NAMES[part] ?? part.replaceAll('_', ' ')];
      const isLast = index === parts.length - 1;
      return isLast && parts.length === 2 ? [] : [`number ${Number(part) + 1}`];
    })
    .join(', ');
}

/** `its abilities/0 cannot be` as `its abilities cannot be`, and a read of the API as the command that does it. */
function withoutPointers(text: string): string {
  return text
    .replaceAll(/\b([a-z_]+)\/\d+(?= )/g, (_, name: string) => name.replaceAll('_', ' '))
    .replace('Read filters/available for', '"portcullis firewall catalogue IP" prints');
}

function trimmed(detail: string): string {
  return detail.replace(/\.$/, '');
}

function sentence(text: string): string {
  const first = text.charAt(0);
  const whole = `${first.toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
