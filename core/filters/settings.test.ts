import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateFilters, type FilterState } from './evaluate.ts';
import { minecraftJava } from './games/minecraft-java.ts';
import { source } from './games/source.ts';
import { combineFilters } from './program.ts';
import { tcpSynProxy } from './protocols/tcp-syn-proxy.ts';
import { udpStateful } from './protocols/udp-stateful.ts';
import { type FilterSettings, parseSettings, withSettings } from './settings.ts';

const STATE: FilterState = {
  payload: new Uint8Array(100),
  validated: true,
  established: false,
  opened: false,
  above: [],
};

test('reads settings as canonical text, and refuses what a filter cannot have', () => {
  const read = (sent: FilterSettings) => JSON.stringify(parseSettings(source, sent));
  const wanted = { sourcePps: 200, sourcePorts: '53,1024-65535' };
  assert.equal(read({ sourcePorts: '1024-60000, 53,60001-65535', sourcePps: 200 }), read(wanted));
  assert.deepEqual(parseSettings(source, { sourcePps: null }), { ok: true, value: {} });
  const refused = (
    sent: FilterSettings,
    filter = source as Parameters<typeof parseSettings>[0],
  ) => {
    const settings = parseSettings(filter, sent);
    return settings.ok ? null : settings.field;
  };
  assert.equal(refused({ minLength: 9, maxLength: 8 }), 'minLength');
  assert.equal(refused({ maxLength: 8 }, tcpSynProxy), 'maxLength');
  assert.equal(refused({ sourcePorts: '0' }), 'sourcePorts');
  const odd = Array.from({ length: 17 }, (_, index) => 2 * index + 1).join(',');
  assert.equal(refused({ sourcePorts: odd }), 'sourcePorts');
});

test('replaces the limits of a filter, and the strictest of a port apply', () => {
  const set = withSettings(source, { sourcePps: 5000, newPerSecond: 9 });
  const program = combineFilters([set, udpStateful], 'udp');
  assert.ok(program?.transport === 'udp');
  assert.equal(program.budgetPps, 9);
  assert.equal(program.rates.validatedPps, udpStateful.udp.rates.validatedPps);
  const java = combineFilters([withSettings(minecraftJava, { newPerSecond: 50 })], 'tcp');
  assert.equal(java?.transport === 'tcp' && java.newPerSecond, 50);
});

test('nobody passes outside the lengths and source ports of all filters of the port', () => {
  const program = (...settings: readonly FilterSettings[]) => {
    const combined = combineFilters(
      settings.map((one) => withSettings(udpStateful, one)),
      'udp',
    );
    assert.ok(combined !== null);
    return (port: number, sees: 'both' | 'inbound' = 'both') =>
      evaluateFilters(combined, sees, port, STATE);
  };
  assert.equal(program({ minLength: 100, maxLength: 100 })(7), null);
  assert.equal(program({ minLength: 101 })(7, 'inbound'), 'packet-length');
  assert.equal(program({ maxLength: 99 })(7), 'packet-length');
  assert.equal(program({ minLength: 120 }, { maxLength: 90 })(7), 'packet-length');
  const ports = program({ sourcePorts: '1-20' }, { sourcePorts: '10-30' });
  assert.deepEqual(
    [9, 10, 20, 21].map((port) => ports(port)),
    ['source-port', null, null, 'source-port'],
  );
  assert.equal(program({ sourcePorts: '1' }, { sourcePorts: '2' })(1), 'source-port');
});
