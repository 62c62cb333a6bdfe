import { many } from './many.ts';

const AMPLIFIERS: Readonly<Record<string, string>> = {
  memcached: 'Memcached',
  chargen: 'CHARGEN',
  portmap: 'Portmap',
  netbios: 'NetBIOS',
  coap: 'CoAP',
};
const TYPES: Readonly<Record<string, string>> = {
  udp_flood: 'UDP flood',
  tcp_syn_flood: 'TCP SYN flood',
  tcp_syn_ack_flood: 'TCP SYN-ACK flood',
  tcp_ack_flood: 'TCP ACK flood',
  tcp_rst_flood: 'TCP RST flood',
  icmp_flood: 'ICMP flood',
  gre_flood: 'GRE flood',
  ip_fragment_flood: 'IP fragment flood',
  multi_vector: 'Multiple vectors',
  other_flood: 'Other flood',
};

/** A type that only a newer service knows is shown as it calls it. */
function attackType(type: string): string {
  const reflector = /^(.+)_amplification$/.exec(type)?.[1];
  if (reflector !== undefined) {
    return `${AMPLIFIERS[reflector] ?? reflector.toUpperCase()} amplification`;
  }
  return TYPES[type] ?? type.replaceAll('_', ' ');
}

export const attackMessages = {
  attackType,
  attacks: {
    title: 'Attacks',
    lead: 'Floods on your addresses that passed their threshold, and what edges did about them.',
    search: 'Address, prefix or ASN: 203.0.113.10, 203.0.113.0/24, AS64500',
    notUnderstood: (term: string) =>
      `“${term}” is no address, prefix or ASN. Write 203.0.113.10, 203.0.113.0/24 or AS64500; a prefix without host bits.`,
    twice: (kind: string) => `Give one ${kind} only.`,
    kinds: { ip: 'address', prefix: 'prefix', asn: 'ASN' },
    window: 'Time shown',
    windows: {
      hour: '1 h',
      day: '24 h',
      week: '7 days',
      month: '30 days',
      custom: 'Custom',
    },
    from: 'From',
    to: 'To',
    now: 'Empty: now.',
    backwards: 'The end is before the start.',
    ongoingOnly: 'Ongoing only',
    clamped: (from: string) => `Your history goes back to ${from}: earlier attacks are not shown.`,
    timeline: 'When',
    timelineLabel: (attacks: number, lanes: number) =>
      `Time line: ${many(attacks, 'attack', 'attacks')} on ${many(lanes, 'address', 'addresses')}. The table has the same.`,
    otherLanes: (count: number) =>
      `and ${many(count, 'more address', 'more addresses')}: narrow by address or prefix to see them here`,
    ongoing: 'Ongoing',
    ended: 'Ended',
    columns: {
      type: 'Attack',
      address: 'Address',
      state: 'State',
      started: 'Started',
      duration: 'Lasted',
      bps: 'Peak bits',
      pps: 'Peak packets',
      mitigated: 'Mitigated after',
    },
    notMitigated: 'not mitigated',
    underSecond: 'under 1 s',
    shown: (shown: string, all: string) =>
      shown === all ? `${all} attacks` : `the newest ${shown} of ${all} attacks`,
    more: 'Show more',
    empty: {
      title: 'No attacks in this time',
      text: 'Nothing passed a threshold. Show a longer time, or search for another address.',
    },
    emptyOngoing: {
      title: 'No attack is going on',
      text: 'Turn “Ongoing only” off to see those that have ended.',
    },
  },
  attack: {
    title: (type: string, ip: string) => `${attackType(type)} on ${ip}`,
    one: 'Attack',
    toAddress: 'Rules and drops of the address',
    peakBps: 'Peak bits',
    peakPps: 'Peak packets',
    lasted: 'Lasted',
    soFar: 'so far',
    dropped: 'Dropped by mitigations',
    wouldDrop: 'Would have been dropped',
    packets: (bytes: string) => `packets, ${bytes}`,
    between: (low: string, high: string) => `between ${low} and ${high}`,
    exact: 'every packet counted',
    steps: 'What happened when',
    began: 'Began',
    beganText: 'Its traffic passed the threshold.',
    detected: 'Detected',
    afterBegin: 'after it began',
    afterDetected: 'after it was detected',
    mitigated: 'Mitigated',
    notMitigated: 'Not mitigated',
    notMitigatedText: {
      ongoing: 'No edge has confirmed a mitigation yet.',
      ended: 'No edge confirmed a mitigation.',
      off: 'Mitigations are off or only observe on this address.',
    },
    cancelled: 'Mitigation cancelled',
    cancelledText: 'Nothing is done against this attack since then.',
    ended: 'Ended',
    endedText: 'Its traffic fell below the threshold, for as long as the hold time says.',
    goesOn: 'Going on',
    goesOnText: 'It ends when the traffic stays below the threshold for the hold time.',
    traffic: 'Traffic to the address',
    trafficLead: (step: string) => `Means of ${step}.`,
    trafficThreshold: (threshold: string) =>
      `Dashed: ${threshold}, what the traffic had to pass to be an attack.`,
    trafficExact: 'Every packet was counted.',
    trafficBounds: 'The band around the line holds the error of sampling.',
    unit: 'Unit',
    bps: 'Bits a second',
    pps: 'Packets a second',
    chart: (unit: string, peak: string, threshold: string | null) =>
      `${unit} over time, at most ${peak}${threshold === null ? '' : `, against a threshold of ${threshold}`}`,
    noCurve: {
      title: 'No curve is kept',
      text: 'The traffic over time is kept for attacks that were detected while it was counted.',
    },
    vectors: 'What it was made of',
    vectorsLead: 'By share of the traffic beyond the usual.',
    sources: 'Who sent most',
    sourcesLead: 'Source addresses may be forged. Packets as far as they were counted.',
    noVectors: 'It is not known.',
    noSources: 'No sources are known.',
    sourcePorts: 'From ports',
    destinationPorts: 'To ports',
    noPorts: 'No ports are known.',
    port: (port: number, protocol: string | null) =>
      protocol === null ? `${port}` : `${protocol.toUpperCase()} ${port}`,
    noEvidence: 'Nothing more is kept of this attack than what stands above.',
    actions: 'What edges did',
    actionsLead: 'Each mitigation, from when to when. Counts arrive every 15 seconds.',
    action: 'Mitigation',
    by: 'By',
    allEdges: 'all edges',
    mode: 'Mode',
    modes: { enforce: 'drops', observe: 'only observes' },
    since: 'Since',
    until: 'Until',
    stands: 'stands',
    noActions: {
      title: 'No mitigation',
      text: 'Edges did nothing against this attack: mitigation is off for the address, or it ended first. Rules and filters applied as always.',
    },
    because: {
      over: 'attack over',
      expired: 'nothing heard of it any more',
      cancelled: 'cancelled',
      settings: 'settings changed',
    },
    drops: 'What dropped packets to the address meanwhile',
    dropsLead: (from: string, to: string) => `Every stage of the firewall, ${from} to ${to}.`,
    noDrops: 'Nothing was dropped in this time.',
    dropsGone: 'Drops are kept for a day; this attack ended before.',
    cancel: 'Cancel mitigation',
    cancelTitle: 'Let this attack through?',
    cancelText:
      'Every mitigation of this attack is withdrawn on all edges, and nothing more is done against it for as long as it is this attack. This cannot be undone. Rules and filters stay.',
    cancelConfirm: 'Cancel mitigation',
    cancelDone: 'The mitigation is withdrawn',
    cancelEnded: 'The attack has ended: nothing is done against it any more.',
    cancelAlready: 'It is cancelled already.',
    csv: 'CSV: the curve',
    json: 'JSON: all that is known',
  },
  attacked: {
    banner: (type: string, bps: string, pps: string) =>
      `Under attack: ${attackType(type)}, up to ${bps} and ${pps}.`,
    see: 'See the attack',
  },
  download: {
    button: 'Download',
    csv: 'CSV',
    json: 'JSON',
  },
} as const;
