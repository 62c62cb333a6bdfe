import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import type { Row } from '../report.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const ORGANISATIONS = 5_000;
const ADDRESSES = 10_000;
const RULES = 10;

/** The time that large fleet files take, by the command, with the start of its process. The last one stays applied. */
export function fleetFileRows(
  say: (line: string) => void,
  databaseUrl: string,
  data: string,
): Row[] {
  const env = { ...process.env, DATABASE_URL: migrationUrl(databaseUrl) };
  const run = (what: string, verb: 'plan' | 'apply', path: string): number => {
    const args = [
      PROGRAM,
      'fleet',
      verb,
      path,
      '--json',
      '--data',
      data,
      ...(verb === 'apply' ? ['--yes', '--force', '--adopt'] : []),
    ];
    const begin = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, {
      env,
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    if (status !== 0) throw new Error(`fleet ${verb} failed: ${stderr}`);
    const seconds = (performance.now() - begin) / 1000;
    say(`${what}: fleet ${verb} in ${seconds.toFixed(1)} s`);
    return seconds;
  };
  const many = fileIn(data, 'organisations.yaml', organisations());
  const of = `${ORGANISATIONS.toLocaleString('en')} organisations`;
  const planned = run(of, 'plan', many);
  run(of, 'apply', many);
  const unchanged = run(of, 'plan', many);
  run('no organisation of these', 'apply', fileIn(data, 'none.yaml', NONE));
  const large = fileIn(data, 'addresses.yaml', addresses());
  const what = `${ADDRESSES.toLocaleString('en')} addresses x ${RULES} rules`;
  const applied = run(what, 'apply', large);
  const again = run(what, 'apply', large);
  return [
    row(`fleet plan of ${of}, from nothing`, planned, 5),
    row(`fleet plan of ${of}, nothing changes`, unchanged, 5),
    row(`fleet apply of ${what}, from nothing`, applied, 10),
    row(`fleet apply of ${what}, nothing changes`, again, 2),
  ];
}

function fileIn(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function row(name: string, value: number, goal: number): Row {
  return { name, value, unit: 's', baseline: null, goal, goalIs: 'at most' };
}

const NONE = 'organisations: { last: { name: Last } }\n';

function organisations(): string {
  const all = Array.from({ length: ORGANISATIONS }, (_, at) => {
    const net = `10.${at >> 8}.${at & 255}`;
    return `  org${at}:
    name: Organisation ${at}
    flags: [firewall_api, attack_history_api]
    asns: [${100_000 + at}]
    prefixes: [{ cidr: ${net}.0/24, asn: ${100_000 + at} }]
    services: [{ id: ${at + 1}, name: s, addresses: [{ ip: 172.${16 + (at >> 8)}.${at & 255}.1 }] }]
    thresholds: { pps: 20000, mbps: 1000, hold_seconds: 60 }
    keys: [{ name: ci, abilities: [firewall.read, firewall.manage] }]
    groups:
      - { name: base, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [${net}.10] }
`;
  });
  return `organisations:\n${all.join('')}`;
}

function addresses(): string {
  const groups = Array.from({ length: ADDRESSES }, (_, at) => {
    const rules = Array.from(
      { length: RULES },
      (__, rule) =>
        `          - { action: allow, protocol: tcp, destination_port: "${1000 + rule * 100 + (at % 100)}" }\n`,
    );
    return `      - name: g${at}
        rules:
${rules.join('')}        addresses: [11.0.${at >> 8}.${at & 255}]
`;
  });
  return `organisations:
  large:
    name: Large
    asns: [64999]
    prefixes: [{ cidr: 11.0.0.0/16, asn: 64999 }]
    groups:
${groups.join('')}`;
}
