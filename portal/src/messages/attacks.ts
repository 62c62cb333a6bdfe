import { formatCount } from '../format.ts';
import { many } from './many.ts';

const AMPLIFIERS: Readonly<Record<string, string>> = {
  memcached: 'Memcached',
  chargen: 'CHARGEN',
  portmap: 'Portmap',
  netbios: 'NetBIOS',
  coap: 'CoAP',
  plex: 'Plex',
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
    lead: 'Floods that passed a threshold on your addresses, and what the edges did about them.',
    search: 'Address, prefix or ASN: 203.0.113.10, 203.0.113.0/24, AS64500',
    notUnderstood: (term: string) =>
      `“${term}” is not an address, prefix or ASN. Write 203.0.113.10, 203.0.113.0/24 or AS64500; a prefix without host bits.`,
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
      duration: 'Duration',
      bps: 'Peak, bit/s',
      pps: 'Peak, packets/s',
      mitigated: 'Mitigated after',
    },
    notMitigated: 'not mitigated',
    underSecond: 'under 1 s',
    shown: (shown: number, all: number) =>
      shown === all
        ? many(all, 'attack', 'attacks')
        : `The newest ${formatCount(shown)} of ${many(all, 'attack', 'attacks')}`,
    more: 'Show more',
    empty: {
      title: 'No attacks in this time',
      text: 'Nothing passed a threshold. Show a longer time, or search for another address.',
    },
    emptyOngoing: {
      title: 'No ongoing attack',
      text: 'Turn “Ongoing only” off to see attacks that have ended.',
    },
  },
  attack: {
    title: (type: string, ip: string) => `${attackType(type)} on ${ip}`,
    one: 'Attack',
    toAddress: 'Rules and drops of the address',
    peakBps: 'Peak, bit/s',
    peakPps: 'Peak, packets/s',
    lasted: 'Duration',
    soFar: 'so far',
    dropped: 'Dropped by mitigations',
    wouldDrop: 'Would have been dropped',
    packets: (bytes: string) => `packets, ${bytes}`,
    between: (low: string, high: string) => `between ${low} and ${high}`,
    exact: 'every packet counted',
    steps: 'Timeline',
    began: 'Started',
    beganText: 'Traffic passed the threshold.',
    detected: 'Detected',
    afterBegin: 'after it started',
    afterDetected: 'after it was detected',
    mitigated: 'Mitigated',
    notMitigated: 'Not mitigated',
    notMitigatedText: {
      ongoing: 'No edge has confirmed a mitigation yet.',
      ended: 'No edge confirmed a mitigation.',
      off: 'Mitigations are off or only observe on this address.',
    },
    cancelled: 'Mitigation cancelled',
    cancelledText: 'Nothing has been done against this attack since then.',
    ended: 'Ended',
    endedText: 'Traffic stayed below the threshold for the hold time.',
    goesOn: 'Ongoing',
    goesOnText: 'It ends when traffic stays below the threshold for the hold time.',
    traffic: 'Traffic to the address',
    trafficLead: (step: string) => `Each point is the mean of ${step}.`,
    trafficThreshold: (threshold: string) => `The dashed line is the threshold, ${threshold}.`,
    trafficExact: 'Every packet was counted.',
    trafficBounds: 'The band shows the sampling error.',
    unit: 'Unit',
    bps: 'Bits a second',
    pps: 'Packets a second',
    chart: (unit: string, peak: string, threshold: string | null) =>
      `${unit} over time, at most ${peak}${threshold === null ? '' : `, against a threshold of ${threshold}`}`,
    noCurve: {
      title: 'No traffic curve',
      text: 'A curve is kept only for attacks during which an edge or collector measured the traffic.',
    },
    vectors: 'What it was made of',
    vectorsLead: 'Share of the traffic above the usual level.',
    sources: 'Top sources',
    sourcesLead:
      'Source addresses may be forged. Each with its part of the packets that were sampled.',
    noVectors: 'Not known.',
    noSources: 'No sources are known.',
    sourcePorts: 'From ports',
    destinationPorts: 'To ports',
    noPorts: 'No ports are known.',
    counted: (count: number) => many(count, 'packet', 'packets'),
    port: (port: number, protocol: string | null) =>
      protocol === null ? `${port}` : `${protocol.toUpperCase()} ${port}`,
    noEvidence: 'No further details of this attack were kept.',
    actions: 'What the edges did',
    actionsLead: 'Each mitigation and when it was in force. Counts arrive every 15 seconds.',
    action: 'Mitigation',
    by: 'By',
    allEdges: 'all edges',
    mode: 'Mode',
    modes: { enforce: 'drops', observe: 'only observes' },
    since: 'Since',
    until: 'Until',
    stands: 'in force',
    noActions: {
      title: 'No mitigation',
      text: 'The edges did nothing against this attack: mitigation is off for the address, or the attack ended first. Rules and filters applied as always.',
    },
    because: {
      over: 'attack ended',
      expired: 'no more reports of it',
      cancelled: 'cancelled',
      settings: 'settings changed',
    },
    drops: 'Packets dropped during the attack',
    dropsLead: (from: string, to: string) => `By every stage of the firewall, ${from} to ${to}.`,
    noDrops: 'Nothing was dropped in this time.',
    dropsGone: 'Drops are kept for one day, and this attack ended earlier.',
    cancel: 'Cancel mitigation',
    cancelTitle: 'Let this attack through?',
    cancelText:
      'Every mitigation of this attack is withdrawn on all edges, and nothing more is done against it until it ends. This cannot be undone. Rules and filters stay.',
    cancelConfirm: 'Cancel mitigation',
    cancelDone: 'The mitigation is withdrawn',
    cancelEnded: 'The attack has ended, so no mitigation is in force.',
    cancelAlready: 'It is already cancelled.',
    usual: {
      looks: (pps: number, mbps: number) =>
        `This looks like usual traffic: it has lasted an hour with a steady shape, from many sources. Accepting it sets the thresholds to ${formatCount(pps)} packets and ${formatCount(mbps)} Mbit a second.`,
      accept: 'Accept as usual',
      acceptTitle: 'Is this usual traffic?',
      acceptText: (pps: number, mbps: number) =>
        `From now on only more than ${formatCount(pps)} packets or ${formatCount(mbps)} Mbit a second is an attack here. This attack ends by it, and its mitigation with it. Whether the sources are real is not measured: look at them first.`,
      done: 'Accepted as usual traffic',
      accepted: (by: string, at: string, pps: number, mbps: number) =>
        `${by} accepted this traffic as usual on ${at}: thresholds are ${formatCount(pps)} packets and ${formatCount(mbps)} Mbit a second.`,
      undo: 'Take it back',
      undoTitle: 'Take it back?',
      undoText: 'The address has the thresholds of its prefix, service or organisation again.',
      undone: 'Taken back',
    },
    csv: 'CSV: traffic curve',
    json: 'JSON: all details',
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
