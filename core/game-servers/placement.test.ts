import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choosePlace, type PlaceNode, type PlaceWish } from './placement.ts';

const NODE: PlaceNode = {
  name: 'a',
  connected: true,
  problem: null,
  memory: 4_096,
  disk: null,
  memoryUsed: 0,
  diskUsed: 0,
  addresses: ['192.0.2.1'],
  ports: [{ low: 1_000, high: 1_001 }],
};
const WISH: PlaceWish = { node: null, memory: 1_024, disk: 1_024, addresses: null };

describe('the place of a server', () => {
  it('is the node with the smallest part of its memory in use, by name among equals', () => {
    const nodes = [
      { ...NODE, name: 'c', memoryUsed: 1_000 },
      { ...NODE, name: 'b', memory: 65_536, memoryUsed: 2_000 },
    ];
    const placed = choosePlace(WISH, nodes, new Set());
    assert.deepEqual(placed, {
      ok: true,
      place: { node: 'b', given: { ip: '192.0.2.1', port: 1_000 } },
    });
    const equal = choosePlace(WISH, [{ ...NODE, name: 'z' }, NODE], new Set(['192.0.2.1 1000']));
    assert.deepEqual(equal, {
      ok: true,
      place: { node: 'a', given: { ip: '192.0.2.1', port: 1_001 } },
    });
  });

  it('is refused with what each node lacks', () => {
    const nodes = [
      { ...NODE, name: 'away', connected: false },
      { ...NODE, name: 'broken', problem: 'Docker does not answer' },
      { ...NODE, name: 'full', memoryUsed: 4_000 },
      { ...NODE, name: 'bare', addresses: [] },
      { ...NODE, name: 'disk', disk: 2_048, diskUsed: 2_000 },
    ];
    const placed = choosePlace(WISH, nodes, new Set());
    assert.deepEqual(placed.ok ? [] : placed.lacks.map(({ node, what }) => `${node} ${what}`), [
      'away is not connected',
      'broken cannot build: Docker does not answer',
      'full has 96 of 4096 MiB of memory left, and 1024 are needed',
      'bare lists no address from which a port could be given',
      'disk has 48 of 2048 MiB of disk left, and 1024 are needed',
    ]);
    const elsewhere = choosePlace({ ...WISH, addresses: ['192.0.2.9'] }, [NODE], new Set());
    assert.deepEqual(elsewhere, {
      ok: false,
      lacks: [{ node: 'a', kind: 'address', what: 'does not list the address 192.0.2.9' }],
    });
  });

  it('takes a node that is named as it is, but for its room', () => {
    const away = { ...NODE, connected: false, addresses: [] };
    const wish = { ...WISH, node: 'a', addresses: ['192.0.2.9'] };
    assert.deepEqual(choosePlace(wish, [away], new Set()), {
      ok: true,
      place: { node: 'a', given: null },
    });
    assert.equal(choosePlace({ ...wish, memory: 8_192 }, [away], new Set()).ok, false);
    const full = { ...away, memoryUsed: 8_192 };
    assert.equal(choosePlace({ ...wish, memory: 0 }, [full], new Set()).ok, true);
  });
});
