import { formatBps, formatPps } from '../attacks/format.ts';

/** How a receiver wants its messages. */
export type WebhookFormat = 'standard' | 'discord' | 'slack';

/**
 * The format by the URL: Discord's and Slack's incoming webhooks take messages of their own; everybody else Standard
 * Webhooks.
 */
export function webhookFormat(url: string): WebhookFormat {
  const parsed = URL.parse(url);
  if (parsed === null) return 'standard';
  const { hostname, pathname } = parsed;
  const isOf = (domain: string): boolean => hostname === domain || hostname.endsWith(`.${domain}`);
  if ((isOf('discord.com') || isOf('discordapp.com')) && pathname.startsWith('/api/webhooks/'))
    return 'discord';
  return isOf('hooks.slack.com') && pathname.startsWith('/services/') ? 'slack' : 'standard';
}

interface Happening {
  readonly kind: string;
  /** An address, a prefix, or the uuid of a game server. */
  readonly target: string;
  readonly organisation: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * The body of a message to a chat. Names that others chose are in it, so nothing in it may mention somebody or be a link.
 * https://discord.com/developers/docs/resources/webhook#execute-webhook
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
 */
export function chatBody(format: Exclude<WebhookFormat, 'standard'>, happening: Happening): string {
  const text = describeHappening(happening);
  if (format === 'discord') {
    const content = text.replaceAll(/[\\*_~`|>#[\]()<@]/g, String.raw`\$&`);
    return JSON.stringify({ content, allowed_mentions: { parse: [] } });
  }
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return JSON.stringify({ text: escaped, mrkdwn: false });
}

const MAX_WORD = 200;

/** A sentence for people. */
export function describeHappening({ kind, target, organisation, data }: Happening): string {
  const word = (name: string): string => {
    const value = data[name];
    const text = typeof value === 'string' ? value : 'unknown';
    return text.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_WORD);
  };
  const attack = `${sentenceCase(word('attack_type').replaceAll('_', ' '))} on ${target}`;
  const peak = peakOf(data);
  const sentences: Readonly<Record<string, () => string>> = {
    'attack.opened': () => `${attack} began${peak}.`,
    'attack.mitigated': () => `${attack} is mitigated.`,
    'attack.ended': () => `${attack} has ended${peak}.`,
    'attack.looks_usual': () =>
      `${attack} has lasted for an hour, and looks like usual traffic. Accept it or leave it.`,
    'server.state': () => `The game server ${word('name')} is ${word('state')}.`,
    'server.crashed': () => `The game server ${word('name')} crashed.`,
    'propagation.failed': () =>
      `The edge ${word('edge')} could not apply the rules of ${target}${othersOf(data)}: ${word('reason')}`,
    'webhook.test': () => 'This is a test: messages arrive here.',
  };
  const sentence = sentences[kind] ?? (() => `${kind}: ${target}`);
  return `${sentence()} (${organisation})`;
}

function othersOf({ addresses }: Happening['data']): string {
  return typeof addresses === 'number' && addresses > 1 ? ` and ${addresses - 1} more` : '';
}

function peakOf({ peak_bps: bps, peak_pps: pps }: Happening['data']): string {
  if (typeof bps !== 'number' || typeof pps !== 'number') return '';
  return `, at most ${formatBps(bps)} and ${formatPps(pps)} so far`;
}

/** `udp flood` as people write it. */
function sentenceCase(text: string): string {
  const known = text.replace(/^(?:udp|tcp|icmp|syn|dns|ntp|gre|ack)\b/, (word) =>
    word.toUpperCase(),
  );
  return known.charAt(0).toUpperCase() + known.slice(1);
}
