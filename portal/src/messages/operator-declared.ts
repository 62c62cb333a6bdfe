import { many } from './many.ts';

/** The words of the list of a kind. */
interface KindWords {
  readonly title: string;
  readonly lead: string;
  readonly add: string;
  readonly removeText: string;
  readonly none: { readonly title: string; readonly text: string };
}

/** Texts of what operators declare by the form of its schema: of every kind, and of each. */
export const operatorDeclaredMessages = {
  change: 'Change',
  changeOf: (what: string) => `Change ${what}`,
  save: 'Save the changes',
  unchanged: 'Nothing is changed yet.',
  missing: (fields: readonly string[]) => `Still missing: ${fields.join(', ')}.`,
  taken: (what: string) => `There is ${what} already. Change it where it is listed.`,
  ofFleet: 'It comes from the fleet file. Change it there.',
  remove: 'Remove',
  removeOf: (what: string) => `Remove ${what}`,
  removeTitle: (what: string) => `Remove ${what}?`,
  optional: 'by default',
  choose: 'Choose one',
  list: 'Separated by spaces, commas or lines.',
  lines: 'One a line.',
  secretHint: 'It is never shown. Leave it empty to keep the present one.',
  endSecret: 'Send none any more',
  noItems: 'None yet.',
  addItem: (list: string) => `Add to ${list.toLowerCase()}`,
  addItems: (list: string) => `Add to ${list.toLowerCase()}: several at once`,
  addThese: 'Add these',
  itemOf: (list: string, position: number) => `${list}, ${position}`,
  removeItem: (list: string, position: number) => `Take ${position} out of ${list.toLowerCase()}`,
  findItem: (list: string) => `Find in ${list.toLowerCase()}`,
  more: (count: number) => `Show ${many(count, 'more', 'more')}`,
  and: '; ',
  fact: (label: string, value: string) => `${label}: ${value}`,
  protection: 'Baseline and responders',
  /** By the name of the field, or by kind and field. */
  labels: {
    action: 'Action',
    addresses: 'Addresses and prefixes',
    asn: 'ASN',
    asns: 'AS numbers',
    at: 'Only attacks above',
    countries: 'Countries',
    default: 'Default verdict',
    destination_port: 'Destination port',
    expires_at: 'Ends',
    expires_seconds: 'Taken back after, seconds',
    mbps: 'Megabits a second',
    pps: 'Packets a second',
    'responder.prefixes': 'Only attacks on',
    ref: 'Reference',
    service: 'Service number',
    since: 'Since',
    source_ip: 'Source',
    timeout_seconds: 'Timeout, seconds',
    until: 'Until',
    webhook: 'Webhook URL',
  } as Readonly<Record<string, string>>,
  /** Instead of the descriptions of the schema, which are written for programs. */
  help: {
    'responder.name': 'Letters, digits, dots and dashes. It cannot be changed.',
    'responder.webhook':
      'An http or https URL that the attack is posted to as JSON. A command runs on the host of the control plane, so only the fleet file names one.',
    'responder.secret': 'Sent as “Authorization: Bearer”.',
    'responder.at': 'Attacks whose peak is above either. Empty: all.',
    'baseline.prefix': 'The network where they hold, as 203.0.113.0/24. It cannot be changed.',
    'baseline.rules.destination_port': 'A port, or ports as 80,443 or 7000-7010. Empty: any.',
    'baseline.rules.source_ip': 'An address or a network. Empty: any.',
    'group.name': 'It cannot be changed.',
    'group.rules.destination_port': 'Ports, or a port of a game server as UUID:query. Empty: any.',
    'group.rules.source_ip': 'An address or a network. Empty: any.',
    'group.rules.ref': 'A name of your own, unique in the group; for one port.',
    'group.filters.ref': 'A name of your own, unique in the group; for one port.',
    'group.rules.expires_at': 'Empty: never.',
    'group.filters.expires_at': 'Empty: never.',
    'blocked-list.target':
      'A network or an address that the organisation holds, or all. It cannot be changed.',
    'geo-rule.countries': 'Codes of two letters, as DE.',
    'geo-rule.asns': 'Numbers, as 64500.',
    'holding.default':
      'For packets that no rule matches. Empty: accept, or that of the network around it.',
    'holding.since': 'Empty: from when it was given.',
    'holding.until': 'Empty: no end. A moment that is over ends it.',
  } as Readonly<Record<string, string>>,
  /** A kind without a row of its own has the descriptions of the contract. */
  wordsFor: (things: string, description: string, about: string) => ({
    title: things,
    lead: description,
    add: `Add to ${things.toLowerCase()}`,
    removeText: about,
    none: { title: `No ${things.toLowerCase()}`, text: description },
  }),
  kinds: {
    responder: {
      title: 'Responders',
      lead: 'Webhooks that are called when an attack that is mitigated begins, and when it is over.',
      add: 'Add a responder',
      removeText: 'What it was called for is taken back as it expires.',
      none: {
        title: 'No responders',
        text: 'A responder passes attacks on, for example to the scrubbing service of your carrier.',
      },
    },
    baseline: {
      title: 'Baseline',
      lead: 'Your own rules of a network, which come before those of everybody else.',
      add: 'Add baseline rules',
      removeText: 'All its rules end as soon as the edges have the change.',
      none: {
        title: 'No baseline rules',
        text: 'Rules here hold for every organisation in the network, before their own.',
      },
    },
    group: {
      title: 'Groups',
      lead: 'Rules and filters for many addresses at once.',
      add: 'Add a group',
      removeText: 'What it put on addresses ends as soon as the edges have the change.',
      none: { title: 'No groups', text: 'A group puts rules and filters on many addresses.' },
    },
    'geo-rule': {
      title: 'Geo rules',
      lead: 'Blocking by country or autonomous system.',
      add: 'Add a geo rule',
      removeText: 'It drops nothing as soon as the edges have the change.',
      none: { title: 'No geo rules', text: 'A geo rule drops by country or AS number.' },
    },
    'blocked-list': {
      title: 'Blocked sources',
      lead: 'Sources that reach nothing of a target, before any rule that allows.',
      add: 'Add blocked sources',
      removeText: 'Its sources reach the target again as soon as the edges have the change.',
      none: { title: 'No blocked sources', text: 'Block networks on one target, or on all.' },
    },
  } as Readonly<Record<string, KindWords>>,
} as const;
