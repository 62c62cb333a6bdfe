import { many } from './many.ts';

interface NamedPerson {
  readonly name: string;
  readonly operator: boolean;
  readonly disabled: boolean;
}

/** Apart from `messages`, because only operators' pages load them. */
export const operatorMessages = {
  title: 'Operator',
  lead: 'All organisations, people and machines of this installation.',
  tabs: {
    organisations: 'Organisations',
    people: 'People',
    fleet: 'Fleet health',
    protection: 'Protection',
    audit: 'Audit trail',
  },
  fleetFile: 'fleet file',
  portal: 'portal',
  act: 'Open',
  actOf: (slug: string) => `Open ${slug}`,
  stop: 'Leave',
  stopOf: (slug: string) => `Leave ${slug}`,
  organisations: {
    title: 'Organisations',
    search: 'Search: name or slug',
    create: 'Create an organisation',
    slug: 'Slug',
    slugText: 'Used in API paths. It cannot be changed.',
    badSlug: 'Lower-case letters, digits and dashes; no dash first.',
    taken: 'Another organisation has this slug.',
    columns: {
      name: 'Name',
      prefixes: 'Prefixes',
      services: 'Services',
      areas: 'Areas',
      owner: 'Managed in',
      actions: 'Actions',
    },
    flags: { firewall_api: 'Firewall', attack_history_api: 'Attack history' } as Readonly<
      Record<string, string>
    >,
    noFlags: 'none',
    limitsTitle: 'Areas and limits',
    limitsLead: 'What its keys may use, and how much.',
    save: 'Save',
    saved: 'Saved.',
    ofFleet:
      'The fleet file owns this organisation. Change it there, with “portcullis fleet apply”.',
    unknown: 'There is no such organisation',
    unknownText: 'It may have been renamed in the fleet file.',
    empty: {
      title: 'No organisations yet',
      text: 'Create one here, or write a fleet file and apply it.',
    },
    none: { title: 'No organisation matches', text: 'Change the search.' },
  },
  thresholds: {
    title: 'Thresholds',
    lead: 'When traffic counts as an attack. An empty field inherits, in this order: address, service, prefix, organisation, fleet.',
    scope: 'For',
    scopeName: (name: string | null, isSet: boolean) =>
      `${name ?? 'The organisation'}${isSet ? ' (set)' : ''}`,
    pps: 'Packets a second',
    mbps: 'Megabits a second',
    hold: 'Hold, seconds',
    inherited: (known: { readonly value: unknown; readonly from: string | null } | null) =>
      known === null
        ? 'as of the fleet'
        : `${Number(known.value).toLocaleString()} of ${known.from ?? 'the organisation'}`,
    mitigation: 'Mitigation',
    modes: { inherit: 'Inherited', off: 'Off', observe: 'Observe', on: 'On' },
    safelist: 'Safelist',
    safelistText: 'Networks that no mitigation drops, one a line.',
    ofFleet: 'The fleet file owns these. They are changed there.',
    save: 'Save the thresholds',
  },
  suggestions: {
    title: 'Thresholds by the last seven days',
    target: 'Address or prefix',
    usual: 'Usual peak',
    now: 'Threshold now',
    suggested: 'Suggested',
    asNow: 'as now',
    little: 'little',
    missed: 'Attacks it would miss',
    reported: 'Usual traffic it would report',
    rates: (pps: string, mbps: string) => `${pps} packets/s, ${mbps} Mbit/s`,
    ofAttacks: (missed: number, attacks: number) => `${missed} of ${attacks}`,
    hours: (hours: number) => many(hours, 'hour', 'hours'),
    none: {
      title: 'Nothing to suggest from',
      text: 'No address reached a quarter of its threshold in the last seven days, and none was attacked.',
    },
  },
  holdings: {
    title: 'Prefixes and addresses',
    give: 'Give a prefix or address',
    prefix: 'Prefix or address',
    by: 'Under',
    noAsn: 'No ASN',
    since: 'Since',
    until: 'Until',
    owner: 'Managed in',
    noEnd: 'no end',
    actions: 'Actions',
    asn: 'AS number',
    addAsn: 'Add the ASN',
    removeAsn: (asn: number) => `Remove AS${asn}`,
    end: 'End',
    endOf: (prefix: string) => `End ${prefix}`,
    change: 'Change',
    changeOf: (prefix: string) => `Change ${prefix}`,
    ofFleet: 'It comes from the fleet file. Change it there.',
    endTitle: (prefix: string) => `End ${prefix} now?`,
    endText:
      'The organisation can no longer see or change it, and its rules are no longer enforced there. Its history stays. To undo this, give it to the organisation again.',
    allowLosses: 'Do it even if rules or filters in force are lost',
    none: {
      title: 'No prefixes or addresses',
      text: 'Without one there is nothing to protect. Give the organisation a prefix or an address.',
    },
  },
  servers: {
    title: 'Game servers',
    add: 'Create a server',
    about: (egg: string, node: string, place: string) => `${egg} on ${node}, ${place}`,
    limits: (memory: string, cpu: string, disk: string) =>
      `${memory} MiB memory, ${cpu} % of a core, ${disk} MiB disk (0: no limit)`,
    states: {
      waiting: 'Waits for its node',
      building: 'Is being built',
      built: 'Built',
      failed: 'Could not be built',
    } as Readonly<Record<string, string>>,
    suspended: 'Suspended',
    suspend: 'Suspend',
    suspendOf: (name: string) => `Suspend ${name}`,
    suspendText: 'It is stopped and cannot be started until you unsuspend it. Its files stay.',
    unsuspend: 'Unsuspend',
    unsuspendOf: (name: string) => `Unsuspend ${name}`,
    unsuspendText: 'It can be started again. It is not started by this.',
    reinstall: 'Reinstall',
    reinstallOf: (name: string) => `Reinstall ${name}`,
    reinstallText:
      'Its egg is installed anew, which may overwrite its files. It cannot be started until that is done.',
    remove: 'Delete',
    removeOf: (name: string) => `Delete ${name}`,
    removeText:
      'Its node stops it, and keeps its files for some days. Until then it can be restored on the page of the fleet.',
    move: 'Pass on',
    moveOf: (name: string) => `Pass ${name} to another organisation`,
    ask: (act: string, name: string) => `${act} ${name}?`,
    ofFleet: 'It comes from the fleet file. Change it there.',
    none: { title: 'No game servers', text: 'Create one from an egg of the library.' },
  },
  people: {
    title: 'People',
    search: 'Search: name, email, organisation',
    target: 'Belongs to',
    asOperator: 'All of them, as an operator',
    linkText: (email: string, until: string) =>
      `Give it to ${email}. It works once, until ${until}. If it is lost, make another.`,
    columns: {
      person: 'Person',
      organisations: 'Organisations',
      state: 'State',
      seen: 'Last seen',
      actions: 'Actions',
    },
    operator: 'Operator',
    disabled: 'Disabled',
    totp: 'two-factor',
    noTotp: 'password only',
    passkeys: (count: number) => (count === 1 ? '1 passkey' : `${count} passkeys`),
    unproven: 'Address not proven',
    notSelf: 'Ask another operator to do this for you.',
    actions: {
      reset: () => 'Reset link',
      operator: ({ operator }: NamedPerson) => (operator ? 'Remove as operator' : 'Make operator'),
      disabled: ({ disabled }: NamedPerson) => (disabled ? 'Enable' : 'Disable'),
    },
    explained: {
      reset: ({ name }: NamedPerson) =>
        `Makes a link by which ${name} chooses a new password, for a day. Accepting it ends every other way into the account: sessions, passkeys, the authenticator app, and links that it made. Give it to nobody else: it proves whose address it is.`,
      operator: ({ name, operator }: NamedPerson) =>
        operator
          ? `${name} loses this area at once, and keeps all roles in organisations. Unused links of operators that ${name} made are void. To undo this, make ${name} an operator again.`
          : `${name} can then see and change everything here, and open every organisation.`,
      disabled: ({ name, disabled }: NamedPerson) =>
        disabled
          ? `${name} may sign in again.`
          : `${name} is signed out everywhere and cannot sign in until enabled again. Unused links that ${name} made are void. All roles stay.`,
    },
    none: { title: 'Nobody matches', text: 'Change the search, or invite somebody.' },
    links: {
      title: 'Unused links',
      lead: 'A link works for anyone who has it, until it is used, withdrawn or expired.',
      anyEmail: 'any email',
      gives: (kind: string, organisation: string | null, role: string | null) =>
        organisation !== null && role !== null
          ? `${role} of ${organisation}`
          : kind === 'reset'
            ? 'a new password'
            : 'an operator',
    },
  },
  fleet: {
    edges: 'Edges',
    nodes: 'Nodes',
    collectors: 'Collectors',
    of: (all: string) => (all === '0' ? 'none set up' : `of ${all} working`),
    atSite: (site: string) => `at ${site}`,
    mode: (mode: string | null) =>
      ({
        enforce: 'Enforces',
        observe: 'Only observes',
        no_device: 'Enforces nothing: no device',
      })[mode ?? ''] ?? 'Never connected',
    inService: 'In service',
    outOfService: 'Out of service',
    neverSeen: 'never seen',
    current: 'Up to date',
    behind: (generations: number, lag: string) =>
      `${many(generations, 'change', 'changes')} behind, for ${lag}`,
    refused: (target: string, reason: string) => `It refused ${target}: ${reason}`,
    serves: 'Serves',
    policies: 'Policies',
    kernel: (state: string) =>
      ({
        undisturbed: 'intact in the kernel',
        disturbed: 'changed in the kernel by something else',
      })[state] ?? 'not checked in the kernel',
    devices: 'Devices',
    early: (mode: string, reason: string | null) => {
      const hooks: Readonly<Record<string, string>> = { native: 'XDP', tc: 'tc ingress' };
      return `${hooks[mode] ?? 'no early drop'}${reason === null ? '' : `: ${reason}`}`;
    },
    absent: 'is not on this machine',
    noReport: 'not reported',
    nodesLead: 'They run game servers.',
    built: (built: number, all: number) => `${built} of ${many(all, 'server', 'servers')} built`,
    engine: (kind: string, version: string | null) =>
      version === null ? kind : `${kind} ${version}`,
    failed: (name: string, reason: string | null) => `${name}: ${reason ?? 'failed'}`,
    collectorsLead: 'They receive flow records of routers.',
    listens: (listen: string, exporters: number) =>
      `listens on ${listen}, ${many(exporters, 'exporter', 'exporters')}`,
    believedOfAll:
      'Its exporters are believed of all destinations: it can report an attack on any.',
    add: 'Add a host',
    addNote: 'You then get the command to run on the new host.',
    taken: (name: string) => `There is a host ${name} already. Change it where it is listed.`,
    change: 'Change',
    changeOf: (name: string) => `Change ${name}`,
    editOfFleet: 'It comes from the fleet file. Change it there.',
    allowLosses: 'Do it all the same',
    kind: 'Kind of host',
    kinds: { nodes: 'Node', edges: 'Edge', collectors: 'Collector' },
    name: 'Name',
    nameBeginnings: { nodes: 'node-', edges: 'edge-', collectors: 'flows-' },
    incoming: 'Devices',
    incomingText: 'eth0: those that packets from outside come in by',
    addresses: 'Addresses for game servers',
    addressesText: '198.51.100.10: servers are given their ports there',
    memory: 'Memory, MiB',
    memoryText: 'no limit',
    listen: 'Listens on',
    exporter: 'Address of the router',
    believed: 'Believed of',
    believedText: '203.0.113.0/24: destinations of its traffic, or all',
    room: (used: string, all: string) => `${used} of ${all} MiB memory given`,
    join: 'Join command',
    joinOf: (name: string) => `Join command of ${name}`,
    joinTitle: (name: string) => `Let a host join as ${name}`,
    joinQuestion:
      'Makes a command for one host, which works once and for an hour. A host that is this already stays until the new one has joined.',
    joinText:
      'Run it as root on the new host, where the portcullis package is installed. It works once, for an hour. If it is lost, make another.',
    ofFleet: 'It comes from the fleet file. Remove it there.',
    remove: 'Remove',
    removeOf: (name: string) => `Remove ${name}`,
    removeTitle: (name: string) => `Remove ${name}?`,
    removeText: {
      edges:
        'Its credential is removed too. An edge in service cannot be removed: nothing would drop packets in its place. This cannot be undone.',
      nodes:
        'Its credential is removed too. A node with game servers cannot be removed. This cannot be undone.',
      collectors: 'Its credential is removed too. What it measured stays. This cannot be undone.',
    },
    connected: 'Connected',
    away: 'Not connected',
    noEdges: {
      title: 'No edges',
      text: 'Nothing is enforced. Add an edge here or in the fleet file.',
    },
    noNodes: {
      title: 'No nodes',
      text: 'A node runs game servers. Add one here or in the fleet file.',
    },
    noCollectors: {
      title: 'No collectors',
      text: 'Edges detect by themselves. A collector adds what routers see.',
    },
  },
  audit: {
    title: 'Audit trail',
    search: 'Search: person, action, target, address, request',
    organisation: 'Organisation',
    allOrganisations: 'All organisations',
    older: 'Older entries',
    actions: {
      'detection.set': 'Thresholds changed',
      'acting.begin': 'Organisation opened',
      'acting.end': 'Organisation left',
      'key.create': 'Key made',
      'key.change': 'Key changed',
      'key.remove': 'Key revoked',
      'key.revoke': 'Key revoked',
      'server.create': 'Game server made',
      'server.change': 'Game server changed',
      'server.delete': 'Game server deleted',
      'server.power': 'Power signal sent',
      'server.reinstall': 'Game server installed anew',
      'service.remove': 'Service removed',
      'token.create': 'Join command made',
      'token.approve': 'Host approved',
      'token.void': 'Join command ended',
      'link.accept': 'Link accepted',
      'link.withdraw': 'Link withdrawn',
      'session.begin': 'Signed in',
      'person.change': 'Person changed',
      'attack.cancel': 'Mitigation cancelled',
      'traffic.accept': 'Traffic accepted as usual',
      'server.command': 'Console command sent',
    },
    columns: {
      at: 'When',
      actor: 'Who',
      action: 'What',
      target: 'Object',
      organisation: 'Organisation',
      source: 'From',
      detail: 'Details',
    },
    actors: {
      key: 'key',
      user: 'person',
      operator: 'operator',
      fleet: 'fleet file',
      system: 'system',
    } as Readonly<Record<string, string>>,
    detailOf: (action: string, target: string) => `Details of ${action} on ${target}`,
    none: { title: 'No entry matches', text: 'Change the search or the organisation.' },
  },
} as const;
