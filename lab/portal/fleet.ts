import { EDGE_DEVICE, SERVER } from '../stack/internet.ts';

/** What the tests of the portal and its pictures look at. */
export const PORTAL_FLEET = `organisations:
  acme:
    name: Acme Hosting
    flags: [firewall_api, attack_history_api]
    asns: [64500]
    limits: { requests_per_minute: 1000000 }
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
      - { cidr: "2001:db8:5::/48", asn: 64500, since: "2026-01-01T00:00:00+00:00" }
    services:
      - id: 501
        name: survival
        addresses:
          - { ip: ${SERVER[4]}, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.20, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.21, since: "2026-01-01T00:00:00+00:00" }
          - { ip: "${SERVER[6]}", since: "2026-01-01T00:00:00+00:00" }
      - id: 502
        name: lobby
        addresses:
          - { ip: 203.0.113.40, since: "2026-01-01T00:00:00+00:00" }
          - { ip: 203.0.113.41, since: "2026-01-01T00:00:00+00:00" }
    groups:
      - name: no-amplification
        rules: [{ action: deny, protocol: udp, destination_port: "1900" }]
        addresses: [${SERVER[4]}, 203.0.113.20]
    keys:
      - { name: lab, abilities: [firewall.read, firewall.manage, attacks.read], secret: "\${LAB_KEY}" }
edges:
  - { name: fra1, devices: [${EDGE_DEVICE}], management: [{ protocol: tcp, port: 22 }] }
`;
