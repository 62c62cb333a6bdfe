import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { FILTERS, findFilter, type FilterType } from '@portcullis/core/filters/catalogue.ts';
import { foreignOf } from './foreign.ts';
import { type Flow, hasProtocol, loadFlows, parseRecording } from './flows.ts';
import { renderPages } from './pages.ts';

const flows = loadFlows();

function foreign(type: FilterType) {
  const filter = findFilter(type) ?? assert.fail(type);
  return foreignOf(filter, 'udp', flows) ?? assert.fail(type);
}

describe('traffic of other protocols', () => {
  it('is recorded of every filter that has a protocol', () => {
    for (const { type, udp, tcp } of FILTERS.filter(hasProtocol)) {
      for (const [transport, filter] of Object.entries({ udp, tcp })) {
        const isOf = (flow: Flow): boolean => flow.type === type && flow.transport === transport;
        if (filter !== null) assert.ok(flows.some(isOf), `${type} ${transport}`);
      }
    }
  });

  it('is on the page of each filter as it is (npm run build:filter-pages)', () => {
    for (const [path, page] of renderPages(flows))
      assert.equal(readFileSync(path, 'utf8'), page, basename(path));
  });

  it('greets no filter whose protocol has a mark, but for games of the same family', () => {
    const families: readonly (readonly FilterType[])[] = [
      ['source', 'quake3', 'rust', 'fivem'],
      ['minecraft-bedrock', 'rust'],
      ['luanti'],
      ['teamspeak3'],
      ['samp'],
      ['wireguard'],
      ['openvpn'],
    ];
    for (const [type, ...family] of families) {
      assert.ok(type !== undefined);
      const { greets, roams } = foreign(type);
      const strangers = greets.types.filter(([one]) => !family.includes(one));
      assert.deepEqual([strangers, roams.some], [[], 0], type);
    }
  });

  it('is read from what passes an edge: the first payloads of each connection, each once', () => {
    const lines = [
      'udp 40000 to 3 616263',
      'udp 40001 to 3 616263',
      'udp 40000 from 2 6262',
      ...['64', '65', '66'].map((start) => `udp 40000 to 1 ${start}`),
      'tcp 40000 to 2 6767',
      'tcp 40000 to 2 6868',
      'tcp 40000 from 2 6969',
    ];
    assert.deepEqual(parseRecording('dns', lines.join('\n')), [
      'dns udp to 3 616263',
      'dns udp to 1 64',
      'dns udp to 1 65',
      'dns udp from 2 6262',
      'dns tcp to 2 6767',
    ]);
  });
});
