import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GameServerStatus } from '@portcullis/client/index.ts';
import { searchRows } from '../../components/list/columns.ts';
import { fieldsOf, FILTERS, isTroubled, rowsOf } from './server-rows.ts';

const SERVER: GameServerStatus = {
  uuid: '6f1c2f1e-6b3a-4b0e-9a55-000000000001',
  name: 'Survival',
  service_id: 501,
  service_name: 'games',
  state: 'running',
  build_state: 'built',
  suspended: false,
  crashed_at: null,
  node: 'node-1',
  node_connected: true,
  egg: 'eggs/luanti.json',
  allocation: { ip: '198.51.100.10', port: 30_000 },
};
const server = (fields: Partial<GameServerStatus>) => ({ ...SERVER, ...fields });
const names = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name);

describe('the list of game servers', () => {
  const rows = rowsOf(
    [
      server({ name: 'Survival' }),
      server({
        name: 'Lobby',
        state: 'offline',
        allocation: { ip: '198.51.100.11', port: 25_565 },
      }),
      server({ name: 'Arena', state: null }),
    ],
    [
      { destination_ip: '198.51.100.11', ended_at: null },
      { destination_ip: '198.51.100.10', ended_at: '2026-11-21T02:00:00+00:00' },
    ],
  );

  it('finds a server by a part of its name, address with port, node or game', () => {
    assert.deepEqual(names(searchRows(rows, 'lob', fieldsOf)), ['Lobby']);
    assert.deepEqual(names(searchRows(rows, '.11:25565', fieldsOf)), ['Lobby']);
    assert.equal(searchRows(rows, 'LUANTI', fieldsOf).length, 3);
    assert.deepEqual(searchRows(rows, 'nothing', fieldsOf), []);
  });

  it('counts unknown as troubled, and never as offline', () => {
    assert.deepEqual(names(rows.filter(FILTERS.offline)), ['Lobby']);
    assert.deepEqual(names(rows.filter(FILTERS.running)), ['Survival']);
    assert.deepEqual(names(rows.filter(FILTERS.troubled)), ['Arena', 'Lobby']);
  });

  it('calls no server quiet whose attacks the caller may not see', () => {
    const [row] = rowsOf([server({})], null);
    assert.ok(row !== undefined && row.attacks === null && !isTroubled(row));
    assert.equal(rowsOf([server({})], [])[0]?.attacks, 0);
  });

  it('takes a crash, a failed build and a suspension for trouble', () => {
    const row = rows.at(-1);
    assert.ok(row !== undefined && !isTroubled(row));
    for (const fields of [
      { crashed_at: '2026-11-21T02:00:00+00:00' },
      { build_state: 'failed', state: null },
      { suspended: true },
    ] as const) {
      assert.ok(isTroubled({ ...row, ...fields }));
    }
    assert.ok(!isTroubled({ ...row, build_state: 'building', state: null }));
  });
});
