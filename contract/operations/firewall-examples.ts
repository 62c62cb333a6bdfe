/** Examples of the firewall operations; a test holds each to its schema. */

const PROPAGATION = 'Changes take 3-5 minutes to propagate globally.';

export const FIREWALL_ADDRESS = {
  data: {
    ip: '203.0.113.10',
    rules: [
      {
        id: 1041,
        action: 'allow',
        protocol: 'udp',
        source_ip: '198.51.100.0/24',
        destination_ip: '203.0.113.10',
        destination_port: 27015,
        managed_by_group: null,
      },
      {
        id: 12,
        action: 'deny',
        protocol: 'udp',
        source_ip: null,
        destination_ip: '203.0.113.10',
        destination_port: 19,
        managed_by_group: { id: 3, name: 'baseline' },
      },
    ],
    filters: [
      {
        key: 'udp-stateful:27015',
        type: 'udp-stateful',
        name: 'UDP stateful',
        port: 27015,
        managed_by_group: null,
      },
    ],
  },
  meta: {
    rules_count: 2,
    filters_count: 1,
    limits: { rules_per_ip: 100, filters_per_ip: 25, max_ports_per_request: 101 },
  },
};

export const CATALOGUE = {
  data: [
    { type: 'tcp-syn-proxy', name: 'TCP SYN proxy', category: 'protocols' },
    { type: 'udp-stateful', name: 'UDP stateful', category: 'protocols' },
  ],
};

export const RULE_BODIES = {
  'open-ports': { action: 'allow', protocol: 'tcp', destination_port: '80,443' },
  'drop-source': { action: 'deny', protocol: 'any', source_ip: '198.51.100.7' },
  'allow-network': {
    action: 'allow',
    protocol: 'udp',
    destination_port: '7000-7010',
    source_ip: '198.51.100.0/24',
  },
};

export const RULES_CREATED = {
  data: { ids: [1042, 1043], created: 2, requested: 2 },
  message: `2 rules were accepted. ${PROPAGATION}`,
};

export const RULES_DELETED = {
  data: { deleted: 1, ids: [1042] },
  message: `1 rule was deleted. ${PROPAGATION}`,
};

export const FILTER_BODIES = {
  'one-port': { type: 'udp-stateful', port: '27015' },
  'many-ports': { type: 'tcp-syn-proxy', port: '25565-25570,25580' },
};

export const FILTERS_CREATED = {
  data: { type: 'udp-stateful', created: 1 },
  message: `1 filter was accepted. A stateful filter forces all connections going through its port to reconnect. ${PROPAGATION}`,
};

export const FILTERS_DELETED = {
  data: { deleted: 1 },
  message: `1 filter was deleted. ${PROPAGATION}`,
};
